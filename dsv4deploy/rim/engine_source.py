"""Reads the texts of an SGLang package from a wheel, an unpacked folder or a virtual environment."""

import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dsv4deploy.model.trouble import Trouble

SERVER_ARGS = "sglang/srt/server_args.py"
VERSION = re.compile(r"""^(?:Version:\s*|__version__\s*=\s*(?:version\s*=\s*)?["'])([0-9][^\s"']*)""", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class EngineSource:
    """One SGLang package: the version it states, and the text of every Python file, by path below site-packages."""

    version: str | None
    texts: Mapping[str, str]


def read_engine(path: Path) -> EngineSource:
    """Read the SGLang package at `path`: a wheel, a folder that holds `sglang/`, a checkout, or a virtual environment.

    Raises:
        Trouble: there is none.
    """
    texts = _from_wheel(path) if path.is_file() else _from_folder(_site_packages(path))
    return EngineSource(_version(texts), {name: text for name, text in texts.items() if name.endswith(".py")})


def _wanted(name: str) -> bool:
    return (name.startswith("sglang/") and name.endswith(".py")) or bool(
        re.fullmatch(r"sglang-[^/]*\.(dist|egg)-info/(METADATA|PKG-INFO)", name)
    )


def _from_wheel(path: Path) -> dict[str, str]:
    try:
        with zipfile.ZipFile(path) as wheel:
            return {name: _text(wheel.read(name)) for name in sorted(wheel.namelist()) if _wanted(name)}
    except (OSError, zipfile.BadZipFile) as problem:
        raise Trouble(f"{path} cannot be read: {problem}", "give a wheel (sglang-VERSION-....whl)") from problem


def _site_packages(path: Path) -> Path:
    candidates = [path, path / "python", *sorted(path.glob("lib/python3*/site-packages"))]
    for candidate in candidates:
        if (candidate / SERVER_ARGS).is_file():
            return candidate
    raise Trouble(
        f"{path} holds no {SERVER_ARGS}",
        "give a wheel, a folder that holds sglang/, a checkout of SGLang, or a virtual environment",
    )


def _from_folder(root: Path) -> dict[str, str]:
    found = [*root.glob("sglang/**/*.py"), *root.glob("sglang-*.*-info/*")]
    texts = {path.relative_to(root).as_posix(): path for path in sorted(found)}
    return {name: _text(path.read_bytes()) for name, path in texts.items() if _wanted(name)}


def _text(content: bytes) -> str:
    return content.decode("utf-8", errors="replace")


def _version(texts: Mapping[str, str]) -> str | None:
    info = [name for name in texts if not name.endswith(".py")]
    for name in (*info, "sglang/_version.py", "sglang/version.py"):
        stated = VERSION.search(texts.get(name, ""))
        if stated:
            return stated[1]
    return None
