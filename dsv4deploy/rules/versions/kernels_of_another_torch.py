"""Which minor release of torch the kernels are linked against, from the metadata of the releases that pin both."""

from typing import Final

from packaging.version import InvalidVersion, Version

from dsv4deploy.model.rule import Ask, known

# first and last release of the kernels, and the torch that goes with them
BUILT: Final = (
    ("0.3.18.post2", "0.4.1", (2, 9)), ("0.4.2", "0.4.5", (2, 11)), ("0.4.6", "0.4.7", (2, 13)),
    ("0.4.9", "0.4.10", (2, 14)),
)  # fmt: skip


def verdict(ask: Ask) -> str | None:
    """Found if the kernels are of a release whose torch is known, and it is another minor release."""
    if known(ask, "fact:engine_patched"):
        return None
    try:
        kernels, torch = (Version(str(ask(f"fact:{name}")).split("+")[0]) for name in ("sgl_kernel", "torch"))
    except InvalidVersion:
        return None
    for first, last, (major, minor) in BUILT:
        if Version(first) <= kernels <= Version(last) and (torch.major, torch.minor) != (major, minor):
            return f"kernels {kernels} go with torch {major}.{minor}, installed is {torch}"
    return None
