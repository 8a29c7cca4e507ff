"""What is asked: read once, exact ever after."""
