"""The pins of each release, from its package metadata."""

from typing import Final

from packaging.version import InvalidVersion, Version

from dsv4deploy.model.rule import Ask, Missing, known

# release: torch, kernel package, FlashInfer (the first release that has the line)
PINS: Final = (
    ("0.5.6", "2.9.1", "0.3.18.post2", "0.5.3"),
    ("0.5.6.post2", "2.9.1", "0.3.19", "0.5.3"),
    ("0.5.8", "2.9.1", "0.3.21", "0.6.1"),
    ("0.5.9", "2.9.1", "0.3.21", "0.6.3"),
    ("0.5.10", "2.9.1", "0.4.1", "0.6.7.post2"),
    ("0.5.10.post1", "2.9.1", "0.4.1", "0.6.7.post3"),
    ("0.5.11", "2.11.0", "0.4.2", "0.6.8.post1"),
    ("0.5.12", "2.11.0", "0.4.2.post2", "0.6.11.post1"),
    ("0.5.13", "2.11.0", "0.4.3", "0.6.12"),
    ("0.5.14", "2.11.0", "0.4.4", "0.6.12"),
    ("0.5.16", "2.11.0", "0.4.5", "0.6.14"),
    ("0.5.17", "2.11.0", "0.4.5", "0.6.15.post1"),
    ("0.5.18", "2.13.0", "0.4.6.post1", "0.6.17"),
    ("0.5.19", "2.13.0", "0.4.6.post1", "0.6.18"),
    ("0.5.20", "2.13.0", "0.4.7", "0.6.18"),
    ("0.5.22", "2.14.1", "0.4.9", "0.7.1"),
    ("0.5.23", "2.14.1", "0.4.10", "0.7.2"),
)
UNSURE: Final = "0.5.7"  # its metadata was not read


def verdict(ask: Ask) -> str | None:
    """Found if torch, the kernel package or FlashInfer is known and not the pinned one."""
    if known(ask, "fact:engine_patched"):
        return None
    found = {name: known(ask, f"fact:{name}") for name in ("torch", "sgl_kernel", "flashinfer")}
    numbers = {name: number for name, said in found.items() if said and (number := _number(said))}
    if not numbers:
        raise Missing("flashinfer", "sgl_kernel", "torch")
    pins = _pins(str(ask("fact:engine_version")))
    if pins is None:
        return None
    wrong = [f"{n} {number}, pinned {pins[n]}" for n, number in numbers.items() if number != Version(pins[n])]
    return "; ".join(wrong) or None


def _number(said: object) -> Version | None:
    try:
        return Version(str(said).split("+")[0].split(" ")[0])
    except InvalidVersion:
        return None


def _pins(release: str) -> dict[str, str] | None:
    number = _number(release)
    if number is None or number < Version(PINS[0][0]) or number == Version(UNSURE):
        return None
    _, torch, kernel, flashinfer = [line for line in PINS if Version(line[0]) <= number][-1]
    return {"torch": torch, "sgl_kernel": kernel, "flashinfer": flashinfer}
