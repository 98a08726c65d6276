"""Takes secrets out of texts that are kept or shown: values that are known, names that say so, and shapes of tokens."""

from __future__ import annotations

import re
from typing import Any, Callable, Iterable

HIDDEN = "<hidden>"
# A name that says that its value is secret; `tokenizer`, `max_tokens` and `prompt_tokens` are none.
_WORD = r"(?:api[_-]?key|secret|token|passw(?:or)?d|passphrase|credentials?|access[_-]?key|private[_-]?key|auth)"
_NAME = re.compile(rf"(?i)(?:^|[_\-.]){_WORD}(?:$|[_\-.])")
# What ends like a file or a number is none, and engines count and name tokens: `per_token`, `token_map`, `eos_token`.
_NO_NAME = re.compile(
    r"(?i)[_-](?:file|path|dir|parser|id|ids)$|(?:per|new|cached|full|swa|eos|bos|pad)[_-]token$|"
    r"(?:^|[_-])token[_-](?:map|num|usage|distribution|latency|budget|ids?|pool|count)"
)
_ASSIGNED = re.compile(
    rf"(?i)(?<![\w.\-])(?P<name>[\w.\-]{{0,60}}?{_WORD}[\w.\-]{{0,40}})"
    r"(?P<sign>[\"']?\s*[=:]\s*|\s+(?=\S))(?P<value>\"[^\"]*\"|'[^']*'|[^\s,;)}\]]+)"
)
_SHAPES = (
    re.compile(r"(?i)(?<=bearer )\s*[\w.~+/=-]{4,}"),
    re.compile(r"(?<=://)[^\s/@:]+:[^\s/@]+(?=@)"),
    re.compile(r"\b(?:hf|sk|gh[pousr]|glpat|xox[abps]|nvapi)[-_][\w-]{12,}"),
    re.compile(r"\bAKIA[0-9A-Z]{16}\b"),
    re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"),
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"),
)
# Words that may stand for a value without being one, and lengths below which hiding would blacken half a log.
_NO_SECRET = {"none", "null", "true", "false", "auto", "''", '""'}
_SHORTEST = 4
# The engine counts tokens: `#token: 8192, swa token usage: 0.01`.
_COUNT = re.compile(r"\d{1,12}(\.\d+)?")


def secret_name(name: str) -> bool:
    """Whether a variable, a flag or a key of this name holds a secret; a name of a file does not."""
    return bool(_NAME.search(name)) and not _NO_NAME.search(name)


def scrubbed(text: str, known: Iterable[str] = ()) -> str:
    """The text without secrets; `known` are values that are hidden wherever they stand."""
    return _without(text, known, lambda _: HIDDEN)


def masked(text: str) -> str:
    """The text with a star for each character of a secret, so that every other one keeps its column."""
    return _without(text, (), lambda secret: "*" * len(secret))


def _without(text: str, known: Iterable[str], hide: Callable[[str], str]) -> str:
    for value in sorted({one for one in known if len(one) >= _SHORTEST}, key=len, reverse=True):
        text = text.replace(value, hide(value))
    for shape in _SHAPES:
        text = shape.sub(lambda found: hide(found[0]), text)
    return _ASSIGNED.sub(lambda found: _assigned(found, hide), text)


def secrets_of(argv: list[str], environment: dict[str, str]) -> list[str]:
    """The values of flags and variables whose names say that they are secret."""
    found = [value for name, value in environment.items() if secret_name(name)]
    for word, following in zip(argv, [*argv[1:], ""]):
        name, equals, value = word.partition("=")
        if name.startswith("--") and secret_name(name.lstrip("-")):
            found.append(value if equals else following)
    return [value for value in found if value]


def scrubbed_tree(tree: Any, known: Iterable[str] = ()) -> Any:  # noqa: ANN401 (any JSON)
    """The same for every text of a JSON document, by the names of its keys too."""
    known = list(known)
    if isinstance(tree, dict):
        return {
            key: HIDDEN
            if secret_name(str(key)) and isinstance(value, (str, int)) and value != "" and not isinstance(value, bool)
            else scrubbed_tree(value, known)
            for key, value in tree.items()
        }
    if isinstance(tree, (list, tuple)):
        return [scrubbed_tree(one, known) for one in tree]
    return scrubbed(tree, known) if isinstance(tree, str) else tree


def _assigned(found: re.Match[str], hide: Callable[[str], str]) -> str:
    name, value = found["name"], found["value"]
    told = found["sign"].strip()
    is_flag = name.startswith("--")
    counted = bool(_COUNT.fullmatch(value)) and name.lower().endswith("token")
    if not secret_name(name.lstrip("-")) or value.lower() in _NO_SECRET or counted or not (told or is_flag):
        return found[0]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{name}{found['sign']}{quote}{hide(value.strip(quote) if quote else value)}{quote}"
