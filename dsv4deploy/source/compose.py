"""Reads the services of a Docker Compose file: each that starts the engine, as the `docker run` line it stands for."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dsv4deploy.model.document import Document, KeyPath, Tree, dotted
from dsv4deploy.model.imported import Imported, Sure, Word
from dsv4deploy.source.account import Account
from dsv4deploy.source.bash.bits import Source
from dsv4deploy.source.bash.state import Read
from dsv4deploy.source.started import enter_words

# Keys whose value, or each item of it, is the value of one option.
_OPTIONS = {
    "cap_add": "cap-add", "container_name": "name", "devices": "device", "env_file": "env-file", "ipc": "ipc",
    "network_mode": "network", "ports": "publish", "restart": "restart", "runtime": "runtime",
    "security_opt": "security-opt", "shm_size": "shm-size", "user": "user", "volumes": "volume",
    "working_dir": "workdir", "cpuset": "cpuset-cpus", "pids_limit": "pids-limit", "group_add": "group-add",
}  # fmt: skip
_SWITCHES = {"init": "init", "privileged": "privileged", "tty": "tty", "stdin_open": "interactive"}
_ELSEWHERE = {"image", "command", "entrypoint", "environment", "ulimits", "deploy"}
_VARIABLE = re.compile(r"\$(?:\$|\{(?P<braced>[A-Za-z_]\w*)(?P<default>:?-[^}]*)?\}|(?P<bare>[A-Za-z_]\w*))")


def is_compose(tree: Tree) -> bool:
    """Whether a loaded text has services with images."""
    services = tree.get("services") if isinstance(tree, dict) else None
    return isinstance(services, dict) and any(isinstance(one, dict) and "image" in one for one in services.values())


def compose(document: Document, read: Read, known: Mapping[str, str]) -> Imported:
    """What the services of a loaded Compose file start; `known` are variables of whoever runs it."""
    account = Account()
    source = Source(document.file, "\n".join(document.lines))
    account.opened(source)
    account.piece(source, 0, len(source.data), "services")
    tree = document.tree if isinstance(document.tree, dict) else {}
    services = tree.get("services")
    for name, service in services.items() if isinstance(services, dict) else ():
        reader = _Service(document, ("services", name), service if isinstance(service, dict) else {}, known)
        found = len(account.commands)
        enter_words(reader.words(), {}, account, read)
        if len(account.commands) == found:
            account.leave_word(name, document.keys["services", name], "this service does not start the engine")
        else:
            for path in reader.left():
                account.leave_word(dotted(path), document.keys[path], "no field of a profile says it")
    for key in tree.keys() - {"services", "version", "name"}:
        account.leave_word(key, document.keys[key,], "only services are read")
    return account.imported(document.file, "compose")


@dataclass(frozen=True, slots=True)
class _Service:
    document: Document
    path: KeyPath
    tree: Mapping[str, Tree]
    known: Mapping[str, str]

    def words(self) -> list[Word]:
        """The words of `docker run` that this service stands for."""
        entrypoint = self._command("entrypoint")
        first = [self._said("--entrypoint", ("entrypoint",)), entrypoint[0]] if entrypoint else []
        image = self._items("image")
        return [
            self._said("docker", ()),
            self._said("run", ()),
            *first,
            *self._options(),
            *(image or [self._said("?", ())]),
            *entrypoint[1:],
            *self._command("command"),
        ]

    def left(self) -> Iterator[KeyPath]:
        """Keys that no option stands for."""
        for key in self.tree:
            if key not in _OPTIONS and key not in _SWITCHES and key not in _ELSEWHERE:
                yield (*self.path, key)

    def _options(self) -> Iterator[Word]:
        for key, option in _OPTIONS.items():
            for item in self._items(key):
                yield from (self._said(f"--{option}", (key,)), item)
        for key, option in _SWITCHES.items():
            if self.tree.get(key) is True:
                yield self._said(f"--{option}", (key,))
        for item in self._pairs("environment"):
            yield from (self._said("--env", ("environment",)), item)
        yield from self._ulimits()
        yield from self._cards()

    def _pairs(self, key: str) -> Iterator[Word]:
        tree = self.tree.get(key)
        if not isinstance(tree, dict):
            yield from self._items(key)
            return
        for name, value in tree.items():
            word = self._word(value, (key, name))
            yield word if value is None else replace(word, text=f"{name}={word.text}")

    def _ulimits(self) -> Iterator[Word]:
        tree = self.tree.get("ulimits")
        for name, value in tree.items() if isinstance(tree, dict) else ():
            amounts = [value.get("soft"), value.get("hard")] if isinstance(value, dict) else [value]
            unlike = [str(amount) for amount in dict.fromkeys(amounts)]
            word = self._word(None, ("ulimits", name))
            yield from (self._said("--ulimit", ("ulimits",)), replace(word, text=f"{name}={':'.join(unlike)}"))

    def _cards(self) -> Iterator[Word]:
        """`deploy.resources.reservations.devices`, the way Compose asks for GPUs."""
        path: tuple[str, ...] = ("deploy", "resources", "reservations", "devices")
        tree: Tree = dict(self.tree)
        for step in path:
            tree = tree.get(step) if isinstance(tree, dict) else None
        for device in tree if isinstance(tree, list) else ():
            ids = device.get("device_ids") if isinstance(device, dict) else None
            cards = f"device={','.join(map(str, ids))}" if isinstance(ids, list) else "all"
            yield from (self._said("--gpus", path), replace(self._word(None, path), text=cards))

    def _command(self, key: str) -> list[Word]:
        tree = self.tree.get(key)
        if not isinstance(tree, str):
            return self._items(key)
        whole = self._word(tree, (key,))
        try:
            return [self._word(part, (key,)) for part in shlex.split(tree, comments=False)]
        except ValueError:
            return [whole]

    def _items(self, key: str) -> list[Word]:
        tree = self.tree.get(key)
        if tree is None:
            return []
        if isinstance(tree, list):
            return [self._word(item, (key, at)) for at, item in enumerate(tree)]
        return [self._word(tree, (key,))]

    def _word(self, value: Tree, path: Sequence[str | int]) -> Word:
        place = self.document.values[*self.path, *path]
        return _filled(Word(str(path[-1]) if value is None else _text(value), place, place), self.known)

    def _said(self, text: str, path: Sequence[str | int]) -> Word:
        place = self.document.values[*self.path, *path]
        return Word(text, place, place)


def _text(value: Tree) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _filled(word: Word, known: Mapping[str, str]) -> Word:
    """The word with the variables of whoever runs Compose filled in."""
    needs: list[str] = []
    sure = word.sure

    def value(found: re.Match[str]) -> str:
        nonlocal sure
        name = found["braced"] or found["bare"]
        if not name:
            return "$"
        if name in known:
            sure = Sure.ASSIGNED
            return known[name]
        if found["default"]:
            sure = Sure.DEFAULT
            return found["default"].lstrip(":").removeprefix("-")
        needs.append(name)
        return found[0]

    text = _VARIABLE.sub(value, word.text)
    return replace(word, text=text, needs=tuple(needs), sure=Sure.UNKNOWN if needs else sure)
