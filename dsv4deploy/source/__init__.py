"""Text to values with spans."""
