"""A small stand-in for an engine: sparse latent attention for one decode step."""

from sparse_decode.decode import kernel, sparse_decode
from sparse_decode.reference import reference

__all__ = ["kernel", "reference", "sparse_decode"]
