"""The stock kernel: one program for each head of each sequence, on the ordinary cores."""

import torch
import triton
import triton.language as tl

LATENT, ROTARY = 512, 64
WIDTH = LATENT + ROTARY
BLOCK = 16


@triton.jit
def _simt(q, kv, indices, out, scale, n_heads, n_chosen, BLOCK_N: tl.constexpr):
    batch = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    latent = tl.arange(0, 512)
    rotary = tl.arange(0, 64)
    row = q + (batch * n_heads + head) * 576
    q_latent = tl.load(row + latent).to(tl.float32) * scale
    q_rotary = tl.load(row + 512 + rotary).to(tl.float32) * scale
    top = -1.0e30
    total = 0.0
    acc = tl.zeros([512], dtype=tl.float32)
    for start in range(0, n_chosen, BLOCK_N):
        offsets = start + tl.arange(0, BLOCK_N)
        tokens = tl.load(indices + batch * n_chosen + offsets, mask=offsets < n_chosen, other=-1)
        valid = tokens >= 0
        rows = kv + tl.where(valid, tokens, 0).to(tl.int64)[:, None] * 576
        values = tl.load(rows + latent[None, :], mask=valid[:, None], other=0.0).to(tl.float32)
        keys = tl.load(rows + 512 + rotary[None, :], mask=valid[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(values * q_latent[None, :], axis=1) + tl.sum(keys * q_rotary[None, :], axis=1)
        scores = tl.where(valid, scores, -1.0e30)
        peak = tl.maximum(top, tl.max(scores, axis=0))
        shrink = tl.exp(top - peak)
        weights = tl.where(valid, tl.exp(scores - peak), 0.0)
        total = total * shrink + tl.sum(weights, axis=0)
        acc = acc * shrink + tl.sum(weights[:, None] * values, axis=0)
        top = peak
    target = out + (batch * n_heads + head) * 512 + latent
    tl.store(target, (acc / total).to(out.dtype.element_ty))


def kernel() -> str:
    """Which kernel a call runs."""
    return "simt"


def sparse_decode(q: torch.Tensor, kv: torch.Tensor, indices: torch.Tensor, scale: float) -> torch.Tensor:
    """As `reference`, in bfloat16 on the card: q (batch, heads, 576), kv (tokens, 576), indices (batch, chosen) int32."""
    batch, heads, width = q.shape
    if width != WIDTH:
        raise ValueError(f"the width is {width}, not {WIDTH}")
    out = torch.empty((batch, heads, LATENT), dtype=q.dtype, device=q.device)
    _simt[(batch, heads)](q, kv, indices, out, scale, heads, indices.shape[1], BLOCK_N=BLOCK, num_warps=4)
    return out
