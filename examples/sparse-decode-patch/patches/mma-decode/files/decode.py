"""The stock kernel, and one on the tensor cores that `SPARSE_DECODE_MMA=1` chooses.

The stock kernel reads every chosen token once for each head. The other one takes 16 or 32 heads of a sequence at once,
so that a token is read once for all of them, and lets the tensor cores multiply.
"""

import functools
import os

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


def _configurations():
    shapes = [(16, 32, 4, 1), (16, 32, 4, 2), (16, 64, 8, 2), (32, 32, 8, 2)]
    return [
        triton.Config({"BLOCK_H": heads, "BLOCK_N": tokens}, num_warps=warps, num_stages=stages)
        for heads, tokens, warps, stages in shapes
    ]


@triton.autotune(configs=_configurations(), key=["n_heads", "n_chosen"])
@triton.jit
def _mma(q, kv, indices, out, scale, n_heads, n_chosen, BLOCK_H: tl.constexpr, BLOCK_N: tl.constexpr):
    batch = tl.program_id(0).to(tl.int64)
    heads = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    there = heads < n_heads
    latent = tl.arange(0, 512)
    rotary = tl.arange(0, 64)
    row = q + (batch * n_heads + heads)[:, None] * 576
    q_latent = tl.load(row + latent[None, :], mask=there[:, None], other=0.0)
    q_rotary = tl.load(row + 512 + rotary[None, :], mask=there[:, None], other=0.0)
    top = tl.full([BLOCK_H], -1.0e30, dtype=tl.float32)
    total = tl.zeros([BLOCK_H], dtype=tl.float32)
    acc = tl.zeros([BLOCK_H, 512], dtype=tl.float32)
    for start in range(0, n_chosen, BLOCK_N):
        offsets = start + tl.arange(0, BLOCK_N)
        tokens = tl.load(indices + batch * n_chosen + offsets, mask=offsets < n_chosen, other=-1)
        valid = tokens >= 0
        rows = kv + tl.where(valid, tokens, 0).to(tl.int64)[:, None] * 576
        values = tl.load(rows + latent[None, :], mask=valid[:, None], other=0.0)
        keys = tl.load(rows + 512 + rotary[None, :], mask=valid[:, None], other=0.0)
        scores = tl.dot(q_latent, tl.trans(values)) + tl.dot(q_rotary, tl.trans(keys))
        scores = tl.where(valid[None, :], scores * scale, -1.0e30)
        peak = tl.maximum(top, tl.max(scores, axis=1))
        shrink = tl.exp(top - peak)
        weights = tl.where(valid[None, :], tl.exp(scores - peak[:, None]), 0.0)
        total = total * shrink + tl.sum(weights, axis=1)
        acc = acc * shrink[:, None] + tl.dot(weights.to(values.dtype), values)
        top = peak
    target = out + (batch * n_heads + heads)[:, None] * 512 + latent[None, :]
    tl.store(target, (acc / total[:, None]).to(out.dtype.element_ty), mask=there[:, None])


def kernel() -> str:
    """Which kernel a call runs."""
    return "mma" if os.environ.get("SPARSE_DECODE_MMA", "0") == "1" else "simt"


def sparse_decode(q: torch.Tensor, kv: torch.Tensor, indices: torch.Tensor, scale: float) -> torch.Tensor:
    """As `reference`, in bfloat16 on the card: q (batch, heads, 576), kv (tokens, 576), indices (batch, chosen) int32."""
    batch, heads, width = q.shape
    chosen = indices.shape[1]
    if width != WIDTH:
        raise ValueError(f"the width is {width}, not {WIDTH}")
    out = torch.empty((batch, heads, LATENT), dtype=q.dtype, device=q.device)
    if kernel() == "mma":
        _say()
        _mma[lambda meta: (batch, triton.cdiv(heads, meta["BLOCK_H"]))](q, kv, indices, out, scale, heads, chosen)
    else:
        _simt[(batch, heads)](q, kv, indices, out, scale, heads, chosen, BLOCK_N=BLOCK, num_warps=4)
    return out


@functools.cache
def _say():
    print("sparse_decode: tensor-core kernel", flush=True)
