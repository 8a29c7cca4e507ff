"""Every question the library answers: one search in a file of its own; `registry.SEARCHES` lists them."""
