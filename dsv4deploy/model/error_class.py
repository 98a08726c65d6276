"""The classes of mistakes in a profile that need no knowledge of any engine: what each means, wrong and right.

`dsv4deploy explain SLUG` and docs/reference/errors.md show them; a test holds each example against the diagnostics.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ErrorClass:
    """One kind of mistake.

    Attributes:
        slug: what stands in the brackets of `error[...]`.
        meaning: what is wrong and why it is not let pass.
        wrong: lines of a profile that have it, empty if it takes more than lines; a byte that is not UTF-8 is half a surrogate pair.
        right: the same lines without it.
        words: what is typed behind `validate profile.yaml`, where the mistake needs that.
    """

    slug: str
    meaning: str
    wrong: str = ""
    right: str = ""
    words: tuple[str, ...] = ()


def by_slug(*classes: ErrorClass) -> Mapping[str, ErrorClass]:
    """The classes by their slugs, in their order."""
    return {one.slug: one for one in classes}


ERROR_CLASSES = by_slug(
    ErrorClass(
        "yaml-syntax",
        "The text is not YAML: nothing after this place can be understood. Tabs cannot indent.",
        "engine:\n\tversion: 0.5.21",
        "engine:\n  version: 0.5.21",
    ),
    ErrorClass(
        "yaml-encoding",
        "The bytes are not UTF-8 text, so that nobody can say which characters are meant.",
        "name: caf\udce9",
        "name: cafe",
    ),
    ErrorClass(
        "yaml-text",
        "A character that cannot be seen or that no program can be given (NUL, escape, a byte order mark inside).",
        'env: {GREETING: "a\\0b"}',
        "env: {GREETING: ab}",
    ),
    ErrorClass(
        "yaml-shape",
        "A profile is a mapping of keys to values; this text is empty or something else.",
        "- name: flash",
        "name: flash",
    ),
    ErrorClass(
        "yaml-documents",
        "One file holds one document. A second one would be ignored in silence.",
        "name: flash\n---\nname: pro",
        "name: flash",
    ),
    ErrorClass(
        "yaml-tag",
        "Tags change what a value is, differently in each YAML library, and some run code. None but `!!str` is read.",
        "name: !custom flash",
        "name: flash",
    ),
    ErrorClass(
        "yaml-key",
        "Keys are text. A number, true, null or a list as a key is usually a missing quote or `{{ }}` of a template.",
        "name: {{ name }}",
        'name: "flash"',
    ),
    ErrorClass(
        "yaml-alias",
        "An alias (`*name`) stands for a value that was named before (`&name`), and not for what it stands in.",
        "env: *common",
        "x: &common {A: b}\nenv: *common",
    ),
    ErrorClass(
        "yaml-merge",
        "The merge key (`<<`) takes mappings into the mapping that it stands in, and nothing else.",
        "env: {<<: common}",
        "x: &common {A: b}\nenv: {<<: *common}",
    ),
    ErrorClass(
        "duplicate-key",
        "A key is written twice in one mapping. YAML libraries take the last one in silence; which one was meant?",
        "parallel:\n  tp: 4\n  tp: 8",
        "parallel:\n  tp: 8",
    ),
    ErrorClass(
        "quote-it",
        "Readers differ about this unquoted word: octal or decimal, base 60, a date, a number or text. "
        "Quote it if it is text; write a number with plain digits.",
        "env: {OMP_NUM_THREADS: 010, BUILD: 2026-12-31, COMMIT: 12e4567}",
        'env: {OMP_NUM_THREADS: 10, BUILD: "2026-12-31", COMMIT: "12e4567"}',
    ),
    ErrorClass(
        "too-deep",
        "Values are nested deeper than any profile needs.",
        f"env: {'[' * 60}{']' * 60}",
        "env: {}",
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
    ),
    ErrorClass(
        "extends",
        "`extends` is the path of one base, relative to the file that names it; it must be readable, "
        "and bases cannot go round in a circle.",
        "extends: no-such-base.yaml",
        "extends: base.yaml",
    ),
    ErrorClass(
        "variant-shape",
        "A variant is a name and one mapping `set` of what it changes; its keys are paths, as for `--set`.",
        "variants: {fast: {compile.torch_compile: true}}",
        "variants: {fast: {set: {compile.torch_compile: true}}}",
    ),
    ErrorClass(
        "unknown-variant",
        "The profile and its bases offer no variant of this name.",
        "variants: {quick: {set: {}}}",
        "variants: {fast: {set: {}}}",
        ("--variant", "fast"),
    ),
    ErrorClass(
        "set-path",
        "`--set` and the keys of a variant are paths: keys joined by dots, list items in brackets, "
        "keys that hold dots in quotes. They cannot lead through a single value.",
        "name: flash",
        "name: {first: flash}",
        ("--set", "name.first=flash"),
    ),
    ErrorClass(
        "wrong-type",
        "The value is of another kind than the key takes. Nothing is converted in silence: "
        'only true and false are booleans, "4" is text, and 4.0 is not a whole number.',
        'parallel: {tp: "4"}',
        "parallel: {tp: 4}",
    ),
    ErrorClass(
        "out-of-range",
        "The number is outside of what the key can mean.",
        "memory: {fraction_static: 1.2}",
        "memory: {fraction_static: 0.6}",
    ),
    ErrorClass(
        "unknown-key",
        "No such key exists here. A misspelt key that were ignored would be a setting that silently does not hold.",
        "parallel: {tpp: 4}",
        "parallel: {tp: 4}",
    ),
    ErrorClass(
        "missing-key",
        "This key has no default: only the writer of the profile can know it.",
        "name: flash\nengine: {venv: /opt/venv}\nmodel: {path: /models/flash}",
        "name: flash\nengine: {version: 0.5.21, venv: /opt/venv}\nmodel: {path: /models/flash}",
    ),
    ErrorClass(
        "invalid-value",
        "The value is of the right kind, but not one that the key takes.",
        "service: {supervisor: sytemd}",
        "service: {supervisor: systemd}",
    ),
    ErrorClass(
        "invalid-key",
        "Names of environment variables and the like have a form, and this one does not have it.",
        "env: {MY VARIABLE: 1}",
        "env: {MY_VARIABLE: 1}",
    ),
)
