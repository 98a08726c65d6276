"""Arguments that this release refuses and a fork may take: rules ask about them all the same."""

from collections.abc import Iterable
from dataclasses import replace

from dsv4deploy.model.argv import ArgvError, ForeignFlag, InvalidChoice, OtherVersionFlag, UnknownFlag
from dsv4deploy.model.launch import Launch, Setting
from dsv4deploy.model.place import Place


def with_fork_words(launch: Launch, errors: Iterable[tuple[ArgvError, Place | None]]) -> Launch:
    """The launch with what was refused as well, as a build that knows it would store it; only to be judged."""
    refused = (setting for error, place in errors if (setting := _setting(error, place)))
    return replace(launch, settings={**{setting.dest: setting for setting in refused}, **launch.settings})


def _setting(error: ArgvError, place: Place | None) -> Setting | None:
    if isinstance(error, InvalidChoice):
        return Setting(error.flag.dest, error.value, error.flag.name, place=place)
    if isinstance(error, UnknownFlag | OtherVersionFlag | ForeignFlag):
        # What it would be worth is known to the fork alone; that it stands there is what rules ask.
        return Setting(error.word.removeprefix("--").replace("-", "_"), True, error.word, place=place)
    return None
