"""One engine over several nodes."""
