"""Models: features, domains, terms; their files; their compiled form."""
