"""The house keeps its own promises: imports point down, and only the rim touches the world."""

import ast
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "dsv4deploy"
# Rooms on one floor do not import one another; `node` stands beside the ground floor and knows nobody.
FLOORS = {
    "model": 0, "node": 0,
    "source": 1, "rules": 1, "flags": 1, "patches": 1, "probes": 1, "rehearsal": 1, "signatures": 1,
    "stages": 2,
    "views": 3, "rim": 3,
    "flow": 4,
    "cli": 5,
    "__main__": 6, "__init__": 0,
}  # fmt: skip
WORLD = {"subprocess", "socket", "http", "urllib", "shutil", "tempfile", "time", "datetime", "os", "asyncio"}
FILES = sorted(path for path in PACKAGE.rglob("*.py") if "_shipped" not in path.parts)


def room(parts: tuple[str, ...]) -> str:
    return parts[0].removesuffix(".py") if parts else "__init__"


def imports(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    own = room(path.relative_to(PACKAGE).parts)
    for name in imports(path):
        if name.startswith("dsv4deploy."):
            other = room(tuple(name.split(".")[1:]))
            if other == "__version__":
                continue
            assert other == own or FLOORS[other] < FLOORS[own], f"{own} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_starts_with_one_sentence(path: Path) -> None:
    sentence = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert sentence, "a module says first what it is"


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in FILES
        if room(path.relative_to(PACKAGE).parts) in {"model", "source", "rules", "flags", "stages", "views"}
    ],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_below_the_rim_nothing_touches_the_world(path: Path) -> None:
    touched = {name.split(".")[0] for name in imports(path)} & WORLD
    assert not touched


@pytest.mark.parametrize("path", sorted((PACKAGE / "probes").rglob("*.py")), ids=lambda path: path.stem)
def test_probes_need_nothing_but_what_an_engine_has(path: Path) -> None:
    foreign = {name.split(".")[0] for name in imports(path)} - set(sys.stdlib_module_names) - {"torch", "triton"}
    assert all(name.startswith("dsv4deploy.probes") for name in imports(path) if name.split(".")[0] in foreign)
