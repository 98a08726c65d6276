"""Tries the tensor-core kernel without an engine: one decode step of 8 sequences with 64 heads over 512 chosen tokens."""

import os

import torch

os.environ["SPARSE_DECODE_MMA"] = "1"


def trial():
    """The kernel and its reference, as callables without arguments."""
    from sparse_decode.decode import LATENT, WIDTH, sparse_decode
    from sparse_decode.reference import reference

    torch.manual_seed(0)
    q = torch.randn(8, 64, WIDTH, device="cuda", dtype=torch.bfloat16)
    kv = torch.randn(4096, WIDTH, device="cuda", dtype=torch.bfloat16)
    indices = torch.randint(0, 4096, (8, 512), device="cuda", dtype=torch.int32)
    scale = WIDTH**-0.5
    return lambda: sparse_decode(q, kv, indices, scale), lambda: reference(q, kv, indices, scale, LATENT)
