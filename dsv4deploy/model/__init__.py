"""Frozen values and nothing else: what the rest of the house hands around."""
