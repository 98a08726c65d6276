"""Profile to launch: every field becomes the flag or variable that this engine version knows it by."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import BaseModel

from dsv4deploy.model.argv import ArgvError, Given
from dsv4deploy.model.diagnostic import Diagnostic, Level, Related
from dsv4deploy.model.document import KeyPath, Merged, dotted
from dsv4deploy.model.flag import Catalogue, Flag
from dsv4deploy.model.history import History
from dsv4deploy.model.launch import Launch, Provided, Setting, Variable
from dsv4deploy.model.place import Place
from dsv4deploy.model.profile import Profile
from dsv4deploy.model.profile.engine import Engine, Provides
from dsv4deploy.model.profile.section import Env, Says
from dsv4deploy.source.argv import parse, spelled

# What stands for a key that no text of ours may hold.
IN_A_FILE = "<in a file>"


class Lowered(NamedTuple):
    """What a profile starts, and what is wrong with the words that say it."""

    launch: Launch
    diagnostics: tuple[Diagnostic, ...]
    # Errors of the argument words, each with the place of the value that it is about.
    errors: tuple[tuple[ArgvError, Place | None], ...]
    # The argument words as they were written; None if some of them are not known.
    words: tuple[str, ...] | None


class Said(NamedTuple):
    """The words that one field of the profile becomes."""

    path: KeyPath
    words: tuple[str, ...]


def lower(profile: Profile, merged: Merged, catalogue: Catalogue, history: History) -> Lowered:
    """What `profile` starts with the engine version of `catalogue`."""
    lowering = _Lowering(merged, catalogue, history)
    for path, metadata, value in _leaves(profile):
        for note in metadata:
            if isinstance(note, Says) and not (isinstance(value, bool) and value != note.when):
                lowering.say(path, note.flags, True if isinstance(value, bool) else value)
            elif isinstance(note, Env):
                lowering.export(note.name, value, path)
    _attention_dp(profile, lowering)
    _graphs(profile, lowering)
    _devices(profile, lowering)
    _keys(profile, lowering)
    variables: Mapping[KeyPath, Mapping[str, Any]] = {
        ("nccl", "env"): profile.nccl.env,
        ("kernels", "toggles"): profile.kernels.toggles,
        ("env",): profile.env,
    }
    for section, named in variables.items():
        for name, value in named.items():
            lowering.export(name, value, (*section, name))
    for name in sorted(profile.args):
        lowering.add(name, profile.args[name])
    return lowering.lowered(profile.engine)


@dataclass(slots=True)
class _Lowering:
    merged: Merged
    catalogue: Catalogue
    history: History
    said: list[Said] = field(default_factory=list)
    settings: dict[str, Setting] = field(default_factory=dict)
    environment: dict[str, Variable] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def say(self, path: KeyPath, names: tuple[str, ...], value: object) -> None:
        """Say `value` with the first of `names` that this version has."""
        flag = next((known for name in names if (known := self.catalogue.flag(name)) and known.action in USABLE), None)
        if flag:
            self.said.append(Said(path, _words(flag.name, value, flag)))
        else:
            self.diagnostics.append(self._not_here(path, names))

    def add(self, name: str, value: object) -> None:
        """Say a flag of `args` by its own name."""
        spelling = "--" + name.removeprefix("--").replace("_", "-")
        flag = self.catalogue.flag(spelling)
        if value is None or (value is False and not (flag and flag.action == "boolean-optional")):
            return
        if value is False:
            spelling, value = f"--no-{spelling.removeprefix('--')}", True
        self.said.append(Said(("args", name), _words(spelling, value, flag)))

    def export(self, name: str, value: object, path: KeyPath) -> None:
        """Add an environment variable."""
        text = str(int(value)) if isinstance(value, bool) else str(value)
        variable = Variable(name, text, dotted(path), self.merged.place(path))
        if before := self.environment.get(name):
            self.diagnostics.append(_twice(name, before, variable))
        else:
            self.environment[name] = variable

    def lowered(self, engine: Engine) -> Lowered:
        """Read all words as the engine would, and give each value its place back."""
        owners = [said for said in self.said for _ in said.words]
        words = tuple(word for said in self.said for word in said.words)
        parsed = parse(words, self.catalogue, self.history)
        settings = dict(self.settings)
        for given in sorted((*parsed.given.values(), *parsed.shadowed), key=lambda given: given.words):
            setting = self._setting(given, owners[given.words[0]].path)
            if before := settings.get(setting.dest):
                self.diagnostics.append(_twice(setting.flag, before, setting))
            else:
                settings[setting.dest] = setting
        launch = Launch(engine.version, settings, self.environment, engine.build, _provided(engine))
        errors = tuple(
            (error, self._place(owners[error.words[0]].path if error.words else ())) for error in parsed.errors
        )
        return Lowered(launch, tuple(self.diagnostics), errors, words)

    def _setting(self, given: Given, path: KeyPath) -> Setting:
        flag = given.flag
        if given.spelling not in flag.names:
            self.diagnostics.append(self._abbreviated(given, path))
        return Setting(flag.dest, given.value, flag.name, dotted(path), self._place(path), spelled(flag, given.value))

    def _place(self, path: KeyPath) -> Place | None:
        return self.merged.place(path)

    def _abbreviated(self, given: Given, path: KeyPath) -> Diagnostic:
        return Diagnostic(
            "abbreviated-flag",
            Level.ERROR,
            f"{given.spelling} is an abbreviation of {given.flag.name}",
            (given.flag.name,),
            self.merged.keys.get(path) or self._place(path),
            "abbreviated",
            effect="the next engine version may have a second flag that starts like this, and refuse it as ambiguous",
            evidence=("enforced: argparse accepts a prefix only while it is unique",),
            remedy=f"write {given.flag.name.removeprefix('--')}",
        )

    def _not_here(self, path: KeyPath, names: tuple[str, ...]) -> Diagnostic:
        lives = [life for name in names if (life := self.history.life(name))]
        spans = [f"{life.name}: {since} to {until}" for life in lives for since, until in life.spans]
        return Diagnostic(
            "setting-not-in-version",
            Level.ERROR,
            f"SGLang {self.catalogue.version} cannot express {dotted(path)}",
            (names[0],),
            self._place(path),
            "; ".join(spans) or "in no release that we know",
            effect="the engine would not know the flag and would not start",
            evidence=(f"enforced: flag catalogue of SGLang {self.catalogue.version}",),
            remedy="remove it, or use an engine version that has it",
        )


# A flag that the parser still knows, only to refuse or to ignore it, expresses nothing.
USABLE = {"store", "store-true", "store-false", "store-const", "boolean-optional", "lora-paths"}


def _leaves(section: BaseModel, path: KeyPath = ()) -> Iterator[tuple[KeyPath, list[Any], Any]]:
    """Every field that has a value, in the order of the model, with its annotations."""
    for name, info in type(section).model_fields.items():
        value = getattr(section, name)
        if isinstance(value, BaseModel):
            yield from _leaves(value, (*path, name))
        elif value is not None:
            yield (*path, name), info.metadata, value


def _words(spelling: str, value: object, flag: Flag | None) -> tuple[str, ...]:
    if value is True:
        return (spelling,)
    if isinstance(value, list | tuple) and not (flag and flag.type in {"json", "json-list"}):
        return (spelling, *map(_word, value))
    word = _word(value)
    return (f"{spelling}={word}",) if word.startswith("-") else (spelling, word)


def _word(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list | tuple) else str(value)


def _attention_dp(profile: Profile, lowering: _Lowering) -> None:
    size, path = profile.parallel.attention_dp, ("parallel", "attention_dp")
    if size is None:
        return
    if lowering.catalogue.flag("--attn-dp-size"):
        lowering.say(path, ("--attn-dp-size",), size)
    else:
        # Up to 0.5.21 attention DP is a mode of --dp-size; a profile that also asks for replicas says it twice.
        lowering.say(path, ("--dp-size",), size)
        lowering.say(path, ("--enable-dp-attention",), True)


def _graphs(profile: Profile, lowering: _Lowering) -> None:
    catalogue = lowering.catalogue
    # Up to 0.5.9 prefill graphs are opted into; from 0.5.10 on they are opted out of.
    opt_in = not (catalogue.flag("--disable-piecewise-cuda-graph") or catalogue.flag("--cuda-graph-backend-prefill"))
    decode, prefill = ("cuda_graph", "decode", "enabled"), ("cuda_graph", "prefill", "enabled")
    if profile.cuda_graph.decode.enabled is False:
        _turn_off(lowering, decode, "--cuda-graph-backend-decode", "--disable-cuda-graph")
    if profile.cuda_graph.prefill.enabled is False and not opt_in:
        _turn_off(lowering, prefill, "--cuda-graph-backend-prefill", "--disable-piecewise-cuda-graph")
    if profile.cuda_graph.prefill.enabled is True and opt_in:
        lowering.say(prefill, ("--enable-piecewise-cuda-graph",), True)


def _turn_off(lowering: _Lowering, path: KeyPath, backend: str, disable: str) -> None:
    if lowering.catalogue.flag(backend):
        lowering.say(path, (backend,), "disabled")
    else:
        lowering.say(path, (disable,), True)


def _keys(profile: Profile, lowering: _Lowering) -> None:
    server = profile.server
    for dest, file in {"api_key": server.api_key_file, "admin_api_key": server.admin_api_key_file}.items():
        if file and (flag := lowering.catalogue.by_dest(dest)):
            path = ("server", f"{dest}_file")
            # The engine gets it from the entry shim: no word of argv says it.
            key = Setting(dest, IN_A_FILE, flag.name, dotted(path), lowering.merged.place(path))
            lowering.settings[dest] = key


def _devices(profile: Profile, lowering: _Lowering) -> None:
    if profile.hardware.devices and not profile.engine.container:
        path = ("hardware", "devices")
        # Without it, CUDA counts the fastest card first, and index 2 is another card than in nvidia-smi.
        lowering.export("CUDA_DEVICE_ORDER", "PCI_BUS_ID", path)
        lowering.export("CUDA_VISIBLE_DEVICES", ",".join(map(str, profile.hardware.devices)), path)


def _twice(name: str, before: Setting | Variable, again: Setting | Variable) -> Diagnostic:
    return Diagnostic(
        "written-twice",
        Level.ERROR,
        f"{name} is said twice: by {before.path} and by {again.path}",
        (name,),
        again.place,
        "again here",
        (Related(before.place, f"first here, as {before.path}"),) if before.place else (),
        effect="only one of the two could take effect",
        remedy=f"keep {before.path} and remove {again.path}",
    )


def _provided(engine: Engine) -> tuple[Provided, ...]:
    by = engine.build or f"SGLang {engine.version}"
    return tuple(_one_provided(provides, by) for provides in engine.provides)


def _one_provided(provides: Provides, by: str) -> Provided:
    value = str(provides.value) if provides.env and provides.value is not None else provides.value
    return Provided(provides.because, provides.setting, provides.env, value, provides.evidence or "", by)
