"""A command that is neither function nor builtin: the program that it starts, and what that program gets."""

from dataclasses import replace
from typing import TYPE_CHECKING

from dsv4deploy.model.imported import Word
from dsv4deploy.source import starting
from dsv4deploy.source.bash.entering import Given, enter, spoken
from dsv4deploy.source.bash.state import Here, State, as_word, from_caller

if TYPE_CHECKING:
    from dsv4deploy.source.bash.shell import Shell


def start(shell: "Shell", given: list[Given], whole: tuple[int, int]) -> None:
    """Follow the program with its words; what is not understood is left with its reason."""
    peeled = starting.peeled(tuple(one.word for one in given))
    outer = shell.starter or Here(shell.source.place(*whole))
    here = replace(
        outer,
        place=shell.source.place(*whole),
        prefixes=(*outer.prefixes, *peeled.prefixes),
        environment=_environment(shell, peeled),
    )
    before, shell.state = shell.state, shell.state.copy()
    shell.state.removed += peeled.removed
    if peeled.elsewhere:
        here, shell.state = replace(here, environment=peeled.environment), State()
    step = spoken if peeled.speaks and peeled.rest else enter
    entered = step(shell, given[len(given) - len(peeled.rest) :], here)
    shell.state = before
    if not entered:
        return shell.account.leave(shell.source, *whole, _unknown(given[0].word))
    shell.account.piece(shell.source, *whole, "start")
    if any(prefix.name == "exec" for prefix in peeled.prefixes) and not shell.around.background:
        shell.state.over = f"it is not reached: line {here.place.line} replaces the script by what it starts"
    return None


def _environment(shell: "Shell", peeled: starting.Peeled) -> dict[str, Word]:
    """What a program gets here, without what the caller of the script has set."""
    own = shell.state.exported() if "*" not in peeled.removed else {}
    shell.account.reached |= own.keys()
    place = shell.source.place(0, 0)
    # What the user says of the caller to fill in the script's own words is no variable for the engine.
    filled_in = {name for name, found in own.items() if from_caller(found) and name in shell.account.asked}
    out = {*peeled.removed, *filled_in}
    kept = {name: as_word(found, place) for name, found in own.items() if name not in out}
    return kept | dict(peeled.environment)


def _unknown(name: Word) -> str:
    if name.text.startswith("-"):
        return "bash runs this as a command of its own: a comment or a missing `\\` above ended the command"
    return f"what `{name.text}` does to the launch is not known"
