"""What a script starts: the engine itself, a container with it, or another script that is followed in turn."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dsv4deploy.model.imported import Command, Word
from dsv4deploy.source import containers, starting
from dsv4deploy.source.bash.bits import Bit, Bits, Inner, Source
from dsv4deploy.source.bash.state import INHERITED, Here, State, as_variable

if TYPE_CHECKING:
    from dsv4deploy.source.bash.shell import Shell

_SHELLS = {"bash", "sh", "dash"}
_OPTIONS_WITH_VALUE = {"-o", "+o", "-O", "+O", "--rcfile", "--init-file"}


@dataclass(frozen=True, slots=True)
class Given:
    """A word and the fragments that it is made of."""

    word: Word
    bits: Bits


def enter(shell: "Shell", given: Sequence[Given], here: Here) -> bool:
    """Record what is started; whether that is the engine, or a script that could be followed."""
    words = tuple(one.word for one in given)
    if containers.starts_one(words):
        return _container(shell, given, here)
    entry = starting.entry(words)
    at = None if entry else starting.hidden_entry(words)
    if at is not None:
        entry = starting.entry(words[at:])
        for unknown in words[:at]:
            shell.account.leave_word(unknown.text, unknown.used, "a program in front of the engine that we do not know")
    if entry is None and here.container and words and words[0].text.startswith("-"):
        entry = starting.Entry("image", (), words)
    if entry is None:
        return _script(shell, given, here)
    return record(shell, entry, here)


def record(shell: "Shell", entry: starting.Entry, here: Here) -> bool:
    """Note one start of the engine."""
    state, around = shell.state, shell.around
    command = Command(
        entry=entry.kind,
        lead=entry.lead,
        argv=entry.argv,
        place=here.place,
        environment=here.environment,
        removed=tuple(state.removed),
        prefixes=here.prefixes,
        outputs=around.outputs,
        background=around.background,
        folder=state.folder,
        venv=state.venv,
        limits=dict(state.limits),
        env_files=tuple(state.env_files),
        container=here.container,
        condition=around.condition,
    )
    shell.account.commands.append(command)
    return True


def _container(shell: "Shell", given: Sequence[Given], here: Here) -> bool:
    found = containers.inside(tuple(one.word for one in given), here.environment, shell.read)
    peeled = starting.peeled(found.words)
    bits = {id(one.word): one.bits for one in given}
    inner = [Given(one, bits.get(id(one), ())) for one in peeled.rest]
    for name, word in here.environment.items():
        if name not in found.environment and name not in INHERITED and not name.startswith("DOCKER_"):
            reason = f"{name} is exported, but the container does not get it: that takes --env {name}"
            shell.account.leave_word(f"{name}={word.text}", word.place, reason, name)
    here = replace(
        here,
        container=found.container,
        environment={**found.environment, **peeled.environment},
        prefixes=(*here.prefixes, *peeled.prefixes),
    )
    before, shell.state = shell.state, State(removed=list(peeled.removed))
    entered = enter(shell, inner, here)
    shell.state = before
    return entered


def _script(shell: "Shell", given: Sequence[Given], here: Here) -> bool:
    """`bash -c '...'`, `bash serve.sh`, `./serve.sh`."""
    at, inline = _script_word(given)
    if at is None or not given[at].word.known or not given[at].bits:
        return False
    path = given[at].word.text
    text = path if inline else shell.read(path)
    if text is None:
        return False
    source = Inner(given[at].bits) if inline else Source(shell.account.named(path), text)
    # `bash -c TEXT NAME A B` calls the text NAME and gives it A and B.
    return _follow(shell, source, here, tuple(one.bits for one in given[at + 1 + inline :]))


def spoken(shell: "Shell", given: Sequence[Given], here: Here) -> bool:
    """What a remote or a terminal's shell is told, `ssh node 'cd /srv && ./serve.sh'`: its words are one text."""
    if not all(one.word.known for one in given):
        return False
    blank = Bit.made(" ", given[0].bits[0].source, given[0].bits[0].start, given[0].bits[0].start)
    bits = [bit for one in given for bit in (*one.bits, blank)][:-1]
    return _follow(shell, Inner(bits), here, ())


def _follow(shell: "Shell", source: Source, here: Here, arguments: tuple[Bits, ...]) -> bool:
    if not shell.may_go_deeper:
        return False
    own = shell.state.exported()
    state = State(
        variables={name: own.get(name) or as_variable(found) for name, found in here.environment.items()},
        arguments=arguments,
        removed=list(shell.state.removed),
        limits=dict(shell.state.limits),
        env_files=list(shell.state.env_files),
        folder=shell.state.folder,
        venv=shell.state.venv,
    )
    found = len(shell.account.commands)
    shell.inner(source, state, here).follow()
    return len(shell.account.commands) > found or not isinstance(source, Inner)


def _script_word(given: Sequence[Given]) -> tuple[int | None, bool]:
    """Where the script stands among the words, and whether it is the text itself."""
    if not given:
        return None, False
    if starting.base(given[0].word) not in _SHELLS:
        return (0 if given[0].word.text.endswith(".sh") else None), False
    at, inline = 1, False
    while at < len(given) and given[at].word.text[:1] in {"-", "+"}:
        text = given[at].word.text
        inline = inline or (not text.startswith("--") and "c" in text)
        at += 2 if text in _OPTIONS_WITH_VALUE else 1
    return (at if at < len(given) else None), inline
