"""Tables as the command line gets them."""
