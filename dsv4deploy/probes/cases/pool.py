"""Can the predicted KV pool be allocated on the card in one piece?"""

from dsv4deploy.probes.case import Case, Here

_SHARE = 0.9


def _pool(here: Here) -> None:
    import torch

    free, total = torch.cuda.mem_get_info()
    wanted = here.ask.pool_bytes or int(free * _SHARE)
    here.note(free_bytes=free, total_bytes=total, pool_bytes=wanted)
    here.enter("allocate")
    pool = torch.empty(wanted, dtype=torch.uint8, device=here.device)
    here.enter("write")
    pool[:1] = 1
    pool[-1:] = 1
    torch.cuda.synchronize()


CASES = (
    Case(
        "pool",
        "the predicted pool is allocated on one card",
        _pool,
        remedy="see with nvidia-smi what else holds memory there, or lower memory.fraction_static",
    ),
)
