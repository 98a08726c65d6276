"""Catalogues and the history as files: read, written, made from the packages of SGLang."""

import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from packaging.version import Version

from dsv4deploy.flags import GZIP, history
from dsv4deploy.model.flag import Catalogue
from dsv4deploy.model.history import History, UnknownVersionError, merged
from dsv4deploy.model.history_data import HISTORY, catalogue_data, catalogue_from, overlay_from
from dsv4deploy.model.trouble import Exit, Trouble


def extracted(path: Path, version: str | None = None) -> tuple[Catalogue, tuple[str, ...]]:
    """The catalogue of the SGLang package at `path`, and what could not be told of it.

    Raises:
        Trouble: there is no SGLang package, or not one that this can read.
    """
    # The reader of Python source is large, and a check never needs it.
    from dsv4deploy.rim.engine_source import read_engine  # noqa: PLC0415 (as above)
    from dsv4deploy.source.extract_flags import extract_flags  # noqa: PLC0415 (as above)
    from dsv4deploy.source.extract_variables import extract_variables  # noqa: PLC0415 (as above)
    from dsv4deploy.source.named import UnresolvedError  # noqa: PLC0415 (as above)

    source = read_engine(path)
    called = version or source.version
    if called is None:
        raise Trouble(f"{path} does not state a version of SGLang", "name it with --as, for example --as 0.5.21+fork")
    try:
        found = extract_flags(source.texts)
        variables = extract_variables(source.texts)
    except (UnresolvedError, SyntaxError, ValueError, RecursionError) as problem:
        raise Trouble(
            f"{path}: the flags cannot be read: {problem}", "use a release from 0.5.6 on, or a fork of one"
        ) from problem
    flags = {flag.name: flag for flag in found.flags}
    return Catalogue(called, flags, {each.name: each for each in variables}), found.problems


def read_catalogue(path: Path) -> Catalogue:
    """The catalogue that `dsv4deploy flags extract` wrote to `path`, with what is known beside it.

    Raises:
        Trouble: the file cannot be read, or is no catalogue.
    """
    remedy = "make one with: dsv4deploy flags extract WHEEL|VENV|DIR -o FILE"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return history().dressed(catalogue_from(data))
    except OSError as problem:
        raise Trouble(f"{path} cannot be read: {problem.strerror}", remedy) from problem
    except (ValueError, AttributeError) as problem:
        raise Trouble(f"{path} is no flag catalogue: {problem}", remedy) from problem


def release(version: str) -> Catalogue:
    """The catalogue of a known release, of the newest one if `version` is empty.

    Raises:
        Trouble: no such release is known.
    """
    known = history()
    try:
        return known.at(version or known.versions[-1])
    except UnknownVersionError as unknown:
        remedy = f"name one of: {', '.join(known.versions)}; or read it with: dsv4deploy flags extract"
        raise Trouble(str(unknown), remedy, Exit.USAGE) from unknown


def write(path: Path, content: bytes) -> None:
    """Write a file whole.

    Raises:
        Trouble: it cannot be written.
    """
    try:
        path.write_bytes(content)
    except OSError as problem:
        raise Trouble(f"{path} cannot be written: {problem.strerror}", "choose another place with -o") from problem


class Catalogues:
    """The catalogues that ship with the house, and those that a profile names."""

    @property
    def history(self) -> History:
        """Every known release."""
        return history()

    def of(self, version: str, path: str | None) -> Catalogue:
        """The catalogue in the file at `path`, or that of the release `version`.

        Raises:
            UnknownVersionError: no such release is known.
            Trouble: the file cannot be read.
        """
        return read_catalogue(Path(path)) if path else history().at(version)


def catalogue_text(catalogue: Catalogue) -> str:
    """`catalogue` as the text of a file, one flag a line."""
    data = catalogue_data(catalogue)
    parts = [f" {_json(key)}: {_lines(value)}" for key, value in data.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(value: Any) -> str:  # noqa: ANN401 (any part of the document)
    if not isinstance(value, dict):
        return _json(value)
    return "{\n" + ",\n".join(f"  {_json(name)}: {_json(each)}" for name, each in value.items()) + "\n }"


def _json(value: Any) -> str:  # noqa: ANN401 (any part of the document)
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def history_bytes(packages: Iterable[Path], overlay: Path) -> bytes:
    """The data file of the `flags` room: all `packages` merged, and the YAML files of the folder `overlay`.

    The same packages and files give the same bytes.

    Raises:
        Trouble: a package cannot be read, or something in it is not understood.
    """
    found = [extracted(path) for path in packages]
    problems = [f"{each.version}: {problem}" for each, told in found for problem in told]
    if problems:
        raise Trouble(f"{len(problems)} flags are not understood: {problems[0]}", "teach source/extract_flags.py")
    catalogues = sorted((each for each, _ in found), key=lambda each: Version(each.version))
    flags, variables = merged(catalogues)
    versions = [each.version for each in catalogues]
    return _packed({"versions": versions, "flags": flags, "variables": variables}, overlay)


def with_overlay(content: bytes, overlay: Path) -> bytes:
    """The data file `content` with the overlay compiled anew; no package is needed."""
    return _packed(json.loads(zlib.decompress(content, wbits=GZIP)), overlay)


def _packed(data: dict[str, Any], overlay: Path) -> bytes:
    compiled = read_overlay(overlay)
    overlay_from(compiled)
    text = json.dumps({"schema": HISTORY, **data, "overlay": compiled}, separators=(",", ":"), sort_keys=True)
    return zlib.compress(text.encode(), level=9, wbits=GZIP)


def read_overlay(folder: Path) -> dict[str, Any]:
    """The YAML files of `folder` as one document; lists under the same key are joined."""
    compiled: dict[str, Any] = {}
    for path in sorted(folder.glob("*.yaml")):
        for key, entries in yaml.safe_load(path.read_text(encoding="utf-8")).items():
            compiled.setdefault(key, []).extend(entries)
    return compiled
