"""Reads the words of `docker run` and its kin: options, image, and what is started inside."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from dsv4deploy.model.imported import Container, Sure, Word
from dsv4deploy.source import starting

_RUNTIMES = {"docker", "podman", "nerdctl", "nvidia-docker"}
_VERBS = {"run", "exec", "create"}
# Every other option of `run` takes a value (docker-run(1), podman-run(1)).
_BARE = {
    *("detach", "interactive", "tty", "rm", "init", "privileged", "publish-all", "read-only", "no-healthcheck"),
    *("oom-kill-disable", "disable-content-trust", "sig-proxy", "quiet", "no-hosts", "replace", "tls-verify"),
}
_SHORT = {
    "d": "detach", "i": "interactive", "t": "tty", "P": "publish-all", "q": "quiet",
    "a": "attach", "c": "cpu-shares", "e": "env", "h": "hostname", "l": "label", "m": "memory", "p": "publish",
    "u": "user", "v": "volume", "w": "workdir",
}  # fmt: skip
_SAME = {"net": "network"}
Words = tuple[Word, ...]
Read = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Inside:
    """What a container is, and what it starts: `words` begin with the entry point if that is known."""

    container: Container
    environment: Mapping[str, Word]
    words: Words


def starts_one(words: Words) -> bool:
    """Whether the command starts a container or a program in one."""
    at = 2 if len(words) > 1 and words[1].text == "container" else 1
    return len(words) > at and starting.base(words[0]) in _RUNTIMES and words[at].text in _VERBS


def inside(words: Words, outer: Mapping[str, Word], read: Read) -> Inside:
    """Take `docker run ...` apart; `outer` is the environment of the docker client, which `-e NAME` passes on."""
    at = 3 if words[1].text == "container" else 2
    options: list[tuple[str, Word]] = []
    while at < len(words) and words[at].text.startswith("-") and words[at].text != "-":
        found, at = _option(words, at)
        options += found
    image = words[at] if at < len(words) else None
    container = Container(starting.base(words[0]), image, tuple(options))
    entrypoint = tuple(word for word in container.all("entrypoint")[-1:] if word.text)
    return Inside(container, _environment(container, outer, read), (*entrypoint, *words[at + 1 :]))


def _option(words: Words, at: int) -> tuple[list[tuple[str, Word]], int]:
    """The options in the word at `at`, and where the next ones begin."""
    word = words[at]
    if word.text == "--":
        return [], at + 1
    if not word.text.startswith("--"):
        return _letters(words, at)
    name, equals, _ = word.text[2:].partition("=")
    if equals:
        return [(_SAME.get(name, name), starting.tail(word, len(name) + 3))], at + 1
    return _valued(words, at, _SAME.get(name, name))


def _valued(words: Words, at: int, name: str) -> tuple[list[tuple[str, Word]], int]:
    if name in _BARE or at + 1 >= len(words):
        return [(name, replace(words[at], text="true"))], at + 1
    return [(name, words[at + 1])], at + 2


def _letters(words: Words, at: int) -> tuple[list[tuple[str, Word]], int]:
    """`-it`, `-e X=y`, `-eX=y`."""
    word = words[at]
    bare = len(word.text) - len(word.text[1:].lstrip("ditPq"))
    found = [(_SHORT[letter], replace(word, text="true")) for letter in word.text[1:bare]]
    if bare >= len(word.text):
        return found, at + 1
    name = _SHORT.get(word.text[bare], word.text[bare])
    rest = word.text[bare + 1 :]
    if rest:
        return [*found, (name, starting.tail(word, bare + 1 + rest.startswith("=")))], at + 1
    last, after = _valued(words, at, name)
    return [*found, *last], after


def _environment(container: Container, outer: Mapping[str, Word], read: Read) -> dict[str, Word]:
    environment: dict[str, Word] = {}
    for file in container.all("env-file"):
        environment |= _listed(read(file.text) if file.known else None, file)
    for word in container.all("env"):
        name, equals, _ = word.text.partition("=")
        if equals:
            environment[name] = starting.tail(word, len(name) + 1)
        else:
            environment[name] = outer.get(name, replace(word, text=f"${{{name}}}", sure=Sure.UNKNOWN, needs=(name,)))
    return environment


def _listed(text: str | None, file: Word) -> dict[str, Word]:
    """The variables of an env file, which docker takes as they stand: no quotes, no expansion."""
    if text is None:
        return {}
    lines = (line.lstrip() for line in text.splitlines())
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {name: replace(file, text=value, sure=Sure.ASSIGNED) for name, equals, value in pairs if equals}
