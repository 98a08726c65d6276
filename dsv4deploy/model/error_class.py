"""The classes of mistakes in a profile that need no knowledge of any engine: what each means, wrong and right.

`dsv4deploy explain SLUG` and docs/reference/errors.md show them; a test holds each example against the diagnostics.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dsv4deploy.model.diagnostic import Diagnostic


@dataclass(frozen=True, slots=True)
class ErrorClass:
    """One kind of mistake.

    Attributes:
        slug: what stands in the brackets of `error[...]`.
        meaning: what is wrong and why it is not let pass.
        wrong: lines of a profile that have it, empty if it takes more than lines; a byte that is not UTF-8 is half a surrogate pair.
        right: the same lines without it.
        words: what is typed behind `validate profile.yaml`, where the mistake needs that.
        effect: what would come of letting it pass.
    """

    slug: str
    meaning: str
    wrong: str = ""
    right: str = ""
    words: tuple[str, ...] = ()
    effect: str = ""


def by_slug(*classes: ErrorClass) -> Mapping[str, ErrorClass]:
    """The classes by their slugs, in their order."""
    return {one.slug: one for one in classes}


ERROR_CLASSES = by_slug(
    ErrorClass(
        "yaml-syntax",
        "The text is not YAML: nothing after this place can be understood. Tabs cannot indent.",
        "engine:\n\tversion: 0.5.21",
        "engine:\n  version: 0.5.21",
        effect="nothing after this place can be understood",
    ),
    ErrorClass(
        "yaml-encoding",
        "The bytes are not UTF-8 text, so that nobody can say which characters are meant.",
        "name: caf\udce9",
        "name: cafe",
        effect="nobody can say which characters are meant",
    ),
    ErrorClass(
        "yaml-text",
        "A character that cannot be seen or that no program can be given (NUL, escape, a byte order mark inside).",
        'env: {GREETING: "a\\0b"}',
        "env: {GREETING: ab}",
        effect="a terminal hides it, and no program can be given it",
    ),
    ErrorClass(
        "yaml-shape",
        "A profile is a mapping of keys to values; this text is empty or something else.",
        "- name: flash",
        "name: flash",
        effect="there is no key that could be read",
    ),
    ErrorClass(
        "yaml-documents",
        "One file holds one document. A second one would be ignored in silence.",
        "name: flash\n---\nname: pro",
        "name: flash",
        effect="the second document would be ignored in silence",
    ),
    ErrorClass(
        "yaml-tag",
        "Tags change what a value is, differently in each YAML library, and some run code. None but `!!str` is read.",
        "name: !custom flash",
        "name: flash",
        effect="each YAML library makes another value of it, and some run code",
    ),
    ErrorClass(
        "yaml-key",
        "Keys are text. A number, true, null or a list as a key is usually a missing quote or `{{ }}` of a template.",
        "name: {{ name }}",
        'name: "flash"',
        effect="it is usually a missing quote, and the key that was meant would be missing",
    ),
    ErrorClass(
        "yaml-alias",
        "An alias (`*name`) stands for a value that was named before (`&name`), and not for what it stands in.",
        "env: *common",
        "x: &common {A: b}\nenv: *common",
        effect="there is no value that it could stand for",
    ),
    ErrorClass(
        "yaml-merge",
        "The merge key (`<<`) takes mappings into the mapping that it stands in, and nothing else.",
        "env: {<<: common}",
        "x: &common {A: b}\nenv: {<<: *common}",
        effect="nothing would be taken in",
    ),
    ErrorClass(
        "duplicate-key",
        "A key is written twice in one mapping. YAML libraries take the last one in silence; which one was meant?",
        "parallel:\n  tp: 4\n  tp: 8",
        "parallel:\n  tp: 8",
        effect="YAML libraries take the last one in silence",
    ),
    ErrorClass(
        "quote-it",
        "Readers differ about this unquoted word: octal or decimal, base 60, a date, a number or text. "
        "Quote it if it is text; write a number with plain digits.",
        "env: {OMP_NUM_THREADS: 010, BUILD: 2026-12-31, COMMIT: 12e4567}",
        'env: {OMP_NUM_THREADS: 10, BUILD: "2026-12-31", COMMIT: "12e4567"}',
        effect="one reader takes it for text, another for a number or a date",
    ),
    ErrorClass(
        "too-deep",
        "Values are nested deeper than any profile needs.",
        f"env: {'[' * 60}{']' * 60}",
        "env: {}",
        effect="whoever reads it could be made to read for ever",
    ),
    ErrorClass(
        "too-large",
        "The file is larger than a person writes, or its aliases multiply to more than fits into memory.",
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        "b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
        "c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\n"
        "d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n"
        "e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]",
        "a: &a [x, x]\nb: [*a, *a]",
        effect="whoever reads it could be made to run out of memory",
    ),
    ErrorClass(
        "extends",
        "`extends` is the path of one base, relative to the file that names it; it must be readable, "
        "and bases cannot go round in a circle.",
        "extends: no-such-base.yaml",
        "extends: base.yaml",
        effect="what the base says would be missing",
    ),
    ErrorClass(
        "variant-shape",
        "A variant is a name and one mapping `set` of what it changes; its keys are paths, as for `--set`.",
        "variants: {fast: {compile.torch_compile: true}}",
        "variants: {fast: {set: {compile.torch_compile: true}}}",
        effect="the variant would change nothing",
    ),
    ErrorClass(
        "unknown-variant",
        "The profile and its bases offer no variant of this name.",
        "variants: {quick: {set: {}}}",
        "variants: {fast: {set: {}}}",
        ("--variant", "fast"),
        effect="what it was to change would stay as it is",
    ),
    ErrorClass(
        "set-path",
        "`--set` and the keys of a variant are paths: keys joined by dots, list items in brackets, "
        "keys that hold dots in quotes. They cannot lead through a single value.",
        "name: flash",
        "name: {first: flash}",
        ("--set", "name.first=flash"),
        effect="the value would land nowhere",
    ),
    ErrorClass(
        "wrong-type",
        "The value is of another kind than the key takes. Nothing is converted in silence: "
        'only true and false are booleans, "4" is text, and 4.0 is not a whole number.',
        'parallel: {tp: "4"}',
        "parallel: {tp: 4}",
        effect="converted in silence it could become what nobody meant",
    ),
    ErrorClass(
        "out-of-range",
        "The number is outside of what the key can mean.",
        "memory: {fraction_static: 1.2}",
        "memory: {fraction_static: 0.6}",
        effect="there is nothing that it could mean",
    ),
    ErrorClass(
        "unknown-key",
        "No such key exists here. A misspelt key that were ignored would be a setting that silently does not hold.",
        "parallel: {tpp: 4}",
        "parallel: {tp: 4}",
        effect="ignored, it would be a setting that silently does not hold",
    ),
    ErrorClass(
        "missing-key",
        "This key has no default: only the writer of the profile can know it.",
        "name: flash\nengine: {venv: /opt/venv}\nmodel: {path: /models/flash}",
        "name: flash\nengine: {version: 0.5.21, venv: /opt/venv}\nmodel: {path: /models/flash}",
        effect="a default would be a guess",
    ),
    ErrorClass(
        "invalid-value",
        "The value is of the right kind, but not one that the key takes.",
        "service: {supervisor: sytemd}",
        "service: {supervisor: systemd}",
        effect="passed on, it would fail on the node, or do something else",
    ),
    ErrorClass(
        "invalid-key",
        "Names of environment variables and the like have a form, and this one does not have it.",
        "env: {MY VARIABLE: 1}",
        "env: {MY_VARIABLE: 1}",
        effect="passed on, it would fail on the node, or be read by nobody",
    ),
)
# How we know that it is one, by the beginning of its slug; a mistake in the shape of a document is told by its schema.
_KNOWN_BY: Mapping[str, str] = {
    **dict.fromkeys(
        ("yaml-", "duplicate-key", "quote-it", "too-"),
        "enforced: texts are read strictly [docs/decisions/0010-yaml-is-read-strictly.md]",
    ),
    **dict.fromkeys(
        ("extends", "variant-", "unknown-variant", "set-path"),
        "enforced: how layers become one profile [docs/decisions/0011-layers-of-a-profile.md]",
    ),
}


def reasoned(told: Diagnostic) -> Diagnostic:
    """A mistake in the writing of a document with why it matters and how we know, which its class says."""
    mistake = ERROR_CLASSES.get(told.rule)
    if mistake is None or told.effect or told.evidence:
        return told
    document = told.names[0].partition(":")[0] if told.names else "profile"
    known = next((by for begin, by in _KNOWN_BY.items() if told.rule.startswith(begin)), None)
    return replace(told, effect=mistake.effect, evidence=(known or f"enforced: the schema of the {document}",))
