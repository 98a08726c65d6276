"""Prefill and decode on separate servers."""
