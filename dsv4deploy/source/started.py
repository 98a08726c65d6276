"""Words that no shell has split (a unit, JSON), followed into what they start."""

from collections.abc import Mapping, Sequence

from dsv4deploy.model.imported import Word
from dsv4deploy.source import starting
from dsv4deploy.source.account import Account
from dsv4deploy.source.bash.bits import Source
from dsv4deploy.source.bash.entering import Given, enter, record
from dsv4deploy.source.bash.shell import Shell
from dsv4deploy.source.bash.state import Here, Read, State, as_variable


def enter_words(words: Sequence[Word], environment: Mapping[str, Word], account: Account, read: Read) -> bool:
    """Record what the words start; whether that is the engine, or a script that could be followed.

    Words that begin with a flag are the engine's arguments and nothing else.
    """
    if not words:
        return False
    state = State(variables={name: as_variable(found) for name, found in environment.items()})
    shell = Shell(Source(words[0].place.file, ""), account, state, read)
    peeled = starting.peeled(tuple(words))
    here = Here(words[0].place, peeled.prefixes, {**environment, **peeled.environment})
    if words[0].text.startswith("-"):
        return record(shell, starting.Entry("arguments", (), tuple(words)), here)
    shell.state.removed += peeled.removed
    return enter(shell, [Given(word, as_variable(word).items[0]) for word in peeled.rest], here)
