"""Has this build of torch, and has Triton, code for this card?"""

from dsv4deploy.probes.case import Case, Here, WrongError

_COUNT = 4096


def _image(here: Here) -> None:
    import torch

    here.note(built_for=torch.cuda.get_arch_list())
    here.enter("torch kernel")
    x = torch.arange(_COUNT, device=here.device, dtype=torch.float32)
    if float((x * 2).sum()) != float(_COUNT * (_COUNT - 1)):
        raise WrongError("a sum of integers is another one on this card")
    here.enter("matrix product")
    if float((torch.ones(64, 64, device=here.device) @ torch.ones(64, 64, device=here.device)).sum()) != 64.0**3:
        raise WrongError("a product of ones is another one on this card")
    here.enter("triton kernel")
    import triton

    from dsv4deploy.probes.kernels import add

    out = torch.empty_like(x)
    add[(triton.cdiv(_COUNT, 1024),)](x, x, out, _COUNT, BLOCK=1024)
    if not torch.equal(out, x + x):
        raise WrongError("a Triton kernel adds otherwise than torch")


CASES = (
    Case(
        "kernel-image",
        "kernels of torch, cuBLAS and Triton run on this card",
        _image,
        remedy="install a torch that is built for this compute capability; figures.built_for says what this one has",
    ),
)
