"""Kernels that exist for some compute capabilities only, and what happens on the others."""
