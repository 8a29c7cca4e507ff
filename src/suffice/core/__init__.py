"""From a question about a row to margins and drops."""
