"""Speculative decoding: drafts that are missing, refused or silently useless."""
