"""Which backend reads the cache, and what it takes on this card."""

from typing import Final

from dsv4deploy.model.rule import Ask, known

ADA: Final = "sm_89"


def verdict(ask: Ask) -> str | None:
    """Found if a backend that reads the cache has no kernel for E4M3 on this card."""
    if ask("setting:kv_cache_dtype") != "fp8_e4m3":
        return None
    refused = {"fa3"} if ask("fact:arch") == ADA else {"fa3", "triton"}
    named = [ask(f"written:{phase}_attention_backend") for phase in ("prefill", "decode")]
    reading = named if all(named) else [*named, known(ask, "setting:attention_backend")]
    found = sorted(refused.intersection(str(backend) for backend in reading if backend))
    return f"{found[0]} on {ask('fact:arch')}" if found else None
