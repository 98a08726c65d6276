"""The type and the pages of the KV cache."""
