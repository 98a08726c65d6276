"""Reads a start written as JSON: a list of words, or `{"argv": [...], "env": {...}}`."""

from dsv4deploy.model.document import Document, Tree
from dsv4deploy.model.imported import Imported, Word
from dsv4deploy.model.place import Place
from dsv4deploy.source.account import Account
from dsv4deploy.source.bash.bits import Source
from dsv4deploy.source.bash.state import Read
from dsv4deploy.source.started import enter_words


def argv_file(document: Document, read: Read) -> Imported:
    """What a loaded mapping starts; whatever in it is neither `argv` nor `env` is left."""
    account = Account()
    source = Source(document.file, "\n".join(document.lines))
    account.opened(source)
    tree = document.tree if isinstance(document.tree, dict) else {}
    argv, env = tree.get("argv"), tree.get("env") or {}
    words = _words(document, argv if isinstance(argv, list) else [])
    environment = {
        name: _word(value, document.values["env", name])
        for name, value in (env.items() if isinstance(env, dict) else ())
    }
    for key in tree.keys() - {"argv", "env"}:
        account.leave_word(f"{key}: {tree[key]}", document.keys[key,], "only argv and env are read")
    account.piece(source, 0, len(source.data), "start")
    if not enter_words(words, environment, account, read):
        account.leave_word(" ".join(word.text for word in words), document.values[()], "it does not start the engine")
    return account.imported(document.file, "json")


def _words(document: Document, argv: list[Tree]) -> tuple[Word, ...]:
    return tuple(_word(value, document.values["argv", at]) for at, value in enumerate(argv))


def _word(value: Tree, place: Place) -> Word:
    return Word(value if isinstance(value, str) else str(value), place, place)
