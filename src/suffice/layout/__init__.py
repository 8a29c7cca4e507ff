"""How answers are laid out: facts as data, and the same facts as text and as HTML."""
