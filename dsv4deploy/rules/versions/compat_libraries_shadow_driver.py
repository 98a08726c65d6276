"""Whether the loader meets compatibility libraries first, and whether the driver is newer than they are."""

from packaging.version import InvalidVersion, Version

from dsv4deploy.model.rule import Ask, Missing, known


def verdict(ask: Ask) -> str | None:
    """Found if it does and it is."""
    first = known(ask, "fact:cuda_compat_in_ld_path")
    places = [place for place in str(ask("env:LD_LIBRARY_PATH") or "").split(":") if "compat" in place.split("/")]
    if not first and not places:
        return None
    libraries, driver = str(ask("fact:cuda")), str(ask("fact:driver_cuda"))
    try:
        newer = Version(driver) > Version(libraries)
    except InvalidVersion:
        raise Missing("driver_cuda") from None
    return f"{', '.join(places) or 'compat'} of CUDA {libraries}, driver for {driver}" if newer else None
