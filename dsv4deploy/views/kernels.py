"""Patches as text: what a profile names, and how they are on a node."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dsv4deploy.model.patch import Patch

Answer = Mapping[str, Any]
_SHOWN = 3


def listed(patches: Sequence[Patch]) -> str:
    """Each patch of a profile: what it does, fits, provides, and when it can go."""
    return "".join(f"{line}\n" for patch in patches for line in _patch(patch)) or "No patches.\n"


def status(answer: Answer, head: str = "") -> str:
    """What is patched, file by file where it is not as it should be."""
    return "".join(f"{line}\n" for line in _status(answer, head))


def _patch(patch: Patch) -> Iterator[str]:
    about = patch.about
    fits = about.fits
    yield f"{about.name}  {about.kind}  {patch.digest[:12]}  {about.summary}"
    versions = f" {fits.versions}" if fits.versions else ""
    arch = f", {' '.join(fits.arch)}" if fits.arch else ""
    yield f"  fits      {fits.distribution or fits.package}{versions}{arch}"
    more = f" and {len(patch.touches) - _SHOWN} more" if len(patch.touches) > _SHOWN else ""
    yield f"  changes   {', '.join(patch.touches[:_SHOWN])}{more}"
    if about.toggle:
        yield f"  toggle    {about.toggle.name}"
    for one in about.provides:
        subject = one.setting or one.env
        yield f"  provides  {subject}{'' if one.value is None else f'={one.value}'}: {one.because}"
    if about.needed_for:
        yield f"  needed    {about.needed_for}"
    if about.drop_when:
        yield f"  drop when {fits.distribution or fits.package} {about.drop_when.versions}: {about.drop_when.because}"


def _status(answer: Answer, head: str) -> Iterator[str]:
    where = f"{answer['place']} {answer.get('folder', '')}".strip() if answer.get("place") else "no patches"
    yield f"{head}{where}"
    for patch in answer["patches"]:
        yield f"  {patch['name']}  {patch['state']}  {len(patch['files'])} files"
        yield from (f"    ~ {one['path']}: {one['state']}" for one in patch["files"] if one["state"] != "patched")
    for package in answer["packages"]:
        told = f": {package['told']}" if package["told"] else ""
        yield f"  {package['name']} {package['version'] or 'of no version'} in {package['folder']}  {package['state']}{told}"
    yield from (f"  ~ {one['path']}: {one['what']}" for one in answer.get("others", []))
    for path, known in answer.get("extensions", {}).items():
        yield f"  {path}  code for {known if isinstance(known, str) else ', '.join(known) or 'no card'}"
    for one in answer.get("imports", []):
        yield f"  {one['patch']}  {'proved' if one['ok'] else 'NOT PROVED'}: {one['told']}"
    for one in answer.get("running", []):
        word = {True: "active", False: "NOT ACTIVE", None: "unknown"}[one["active"]]
        yield f"  {one['patch']}  {word}: {one['told']}"
