"""Which of the old names are set, and mean nothing to the release."""

from packaging.version import Version

from dsv4deploy.model.rule import Ask, Found

READ_AGAIN = Version("0.5.18")


def verdict(ask: Ask) -> Found | None:
    """Found if the check is turned off by a name that does not turn it off."""
    if ask("env:SGL_DISABLE_TP_MEMORY_INBALANCE_CHECK") is not None:
        return Found()
    name = "SGLANG_DISABLE_TP_MEMORY_INBALANCE_CHECK"
    if ask(f"env:{name}") is None or Version(str(ask("fact:engine_version"))) >= READ_AGAIN:
        return None
    return Found("", (f"env:{name}",))
