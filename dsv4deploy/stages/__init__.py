"""Pure functions from values to values, one stage a file."""
