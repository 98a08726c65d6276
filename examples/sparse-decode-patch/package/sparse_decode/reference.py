"""What a decode step must give, in float64 and without any kernel."""

import torch


def reference(q: torch.Tensor, kv: torch.Tensor, indices: torch.Tensor, scale: float, latent: int) -> torch.Tensor:
    """Attention of every head over the chosen tokens.

    Args:
        q: (batch, heads, width), the last `width - latent` columns are the rotary part.
        kv: (tokens, width), keys; their first `latent` columns are the values.
        indices: (batch, chosen) tokens of each sequence, -1 where there is none.
        scale: factor of the scores.
        latent: width of the values.

    Returns:
        (batch, heads, latent), float64.
    """
    chosen = kv[indices.clamp(min=0).long()].double()
    scores = torch.einsum("bhd,bnd->bhn", q.double(), chosen) * scale
    scores = scores.masked_fill((indices < 0)[:, None, :], float("-inf"))
    return torch.einsum("bhn,bnd->bhd", scores.softmax(dim=-1), chosen[..., :latent])
