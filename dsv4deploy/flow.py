"""Strings the stages together for the commands, given the ports to the outside world."""

import posixpath
from collections.abc import Sequence

from dsv4deploy.model.diagnostic import Diagnostic, Level, Refused, Related
from dsv4deploy.model.document import Document, Merged, Tree
from dsv4deploy.model.place import Place
from dsv4deploy.model.ports import Texts
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.source.document import load
from dsv4deploy.stages.resolve import EXTENDS, resolve

_LONGEST_CHAIN = 16


def merged_profile(texts: Texts, path: str, variants: Sequence[str] = (), sets: Sequence[str] = ()) -> Merged:
    """The profile at `path` over the chain of its bases, with variants and `--set` texts applied.

    Raises:
        Refused: with everything that is wrong in the first file that is wrong.
        Trouble: the profile itself cannot be read.
    """
    return resolve(chain(texts, path), variants, sets)


def chain(texts: Texts, path: str) -> tuple[Document, ...]:
    """The documents from the outermost base to the profile at `path`.

    Raises:
        Refused: a text that cannot be loaded, a base that cannot be read, bases that go round in a circle.
        Trouble: the profile itself cannot be read.
    """
    documents = [load(texts.read(path), path)]
    while EXTENDS in _mapping(documents[-1]):
        documents.append(_base(texts, documents))
    return tuple(reversed(documents))


def _base(texts: Texts, documents: Sequence[Document]) -> Document:
    child = documents[-1]
    named, at = _mapping(child)[EXTENDS], child.values[EXTENDS,]
    if not isinstance(named, str) or not named:
        raise _refused(documents, at, "extends is the path of one file", "extends: base.yaml")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(child.file), named))
    for earlier in documents:
        if posixpath.normpath(earlier.file) == path:
            begin = Related(earlier.values.get((EXTENDS,), at), "which extends from here")
            related = (begin,) if begin.place != at else ()
            raise _refused(documents, at, f"{named} extends itself in a circle", "remove one extends", related)
    if len(documents) >= _LONGEST_CHAIN:
        raise _refused(documents, at, f"more than {_LONGEST_CHAIN} files that extend one another", "")
    try:
        data = texts.read(path)
    except Trouble as trouble:
        raise _refused(documents, at, trouble.message, trouble.remedy) from None
    return load(data, path)


def _mapping(document: Document) -> dict[str, Tree]:
    return document.tree if isinstance(document.tree, dict) else {}


def _refused(
    documents: Sequence[Document], at: Place, message: str, remedy: str, related: tuple[Related, ...] = ()
) -> Refused:
    sources = {document.file: document.lines for document in documents}
    found = Diagnostic(
        "extends", Level.ERROR, message, names=("profile:extends",), place=at, remedy=remedy, related=related
    )
    return Refused((found,), sources)
