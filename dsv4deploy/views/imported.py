"""An imported launch file as JSON (`imported/1`), and in one line."""

import json
from dataclasses import replace
from typing import Any

from dsv4deploy.model.imported import Command, Container, Imported, Word
from dsv4deploy.node.scrub import HIDDEN, scrubbed, secret_name
from dsv4deploy.stages.imported_profile import Draft

_KEYS = ("--api-key", "--admin-api-key")
_SHORTEST = len("--a")


def as_json(imported: Imported) -> str:
    """Everything that was read, word by word; keys are masked."""
    document = {
        "schema": "imported/1",
        "file": imported.file,
        "kind": imported.kind,
        "files": list(imported.sources),
        "commands": [_command(command) for command in imported.commands],
        "understood": [{"place": str(piece.place), "as": piece.role} for piece in imported.pieces],
        "not_understood": [
            {"place": str(left.place), "text": scrubbed(left.text), "reason": left.reason}
            for left in imported.remainder
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def summary(draft: Draft, output: str) -> str:
    """What became of the file."""
    fill_in = f", to fill in: {', '.join(draft.missing)}" if draft.missing else ""
    left = f", {len(draft.left)} not carried over (listed at its end)" if draft.left else ""
    return f"{output}: {len(draft.entries)} values{left}{fill_in}"


def _command(command: Command) -> dict[str, Any]:
    return {
        "place": str(command.place),
        "entry": command.entry,
        "lead": [word.text for word in command.lead],
        "argv": [_word(word) for word in _masked(command.argv)],
        "environment": {
            name: _word(replace(word, text=HIDDEN) if secret_name(name) else word)
            for name, word in command.environment.items()
        },
        "removed": list(command.removed),
        "prefixes": [[word.text for word in prefix.words] for prefix in command.prefixes],
        "outputs": [piece.role for piece in command.outputs],
        "background": command.background,
        "env_files": [word.text for word in command.env_files],
        "limits": {name: word.text for name, word in command.limits.items()},
        "service": {name: word.text for name, word in command.service.items()},
        "container": _container(command.container) if command.container else None,
        "condition": command.condition,
    }


def _container(container: Container) -> dict[str, Any]:
    return {
        "image": container.image.text if container.image else None,
        "options": [[name, word.text] for name, word in container.options if name != "env"],
    }


def _word(word: Word) -> dict[str, Any]:
    return {"text": word.text, "place": str(word.place), "sure": word.sure.value, "needs": list(word.needs)}


def _masked(words: tuple[Word, ...]) -> list[Word]:
    found: list[Word] = []
    for before, word in zip((None, *words), words, strict=False):
        name, equals, _ = word.text.partition("=")
        if equals and _is_secret_flag(name):
            found.append(replace(word, text=f"{name}={HIDDEN}"))
        else:
            hidden = before is not None and _is_secret_flag(before.text)
            found.append(replace(word, text=HIDDEN) if hidden else word)
    return found


def _is_secret_flag(word: str) -> bool:
    """Whether it is a flag whose value is secret, the engine's own in short too."""
    short = any(own.startswith(word) for own in _KEYS) and len(word) >= _SHORTEST
    return word.startswith("--") and (short or secret_name(word.removeprefix("--")))
