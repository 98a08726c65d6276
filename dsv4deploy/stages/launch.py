"""Profile to launch: every field becomes the flag or variable that this engine version knows it by."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel

from dsv4deploy.model.diagnostic import Diagnostic, Level, Related
from dsv4deploy.model.document import KeyPath, Merged, dotted
from dsv4deploy.model.flag import Catalogue, Flag, Life
from dsv4deploy.model.launch import Json, Launch, Provided, Setting, Variable
from dsv4deploy.model.profile import Engine, Env, Profile, Provides, Says
from dsv4deploy.source.argv import spelled

# These fields are not one flag each; `_graphs` and `_attention_dp` know what they become.
DECODE, PREFILL = ("cuda_graph", "decode"), ("cuda_graph", "prefill")
ATTENTION_DP = ("parallel", "attention_dp")


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing that the profile asks for: the spellings to choose from, the value, and where it was written."""

    path: KeyPath
    flags: tuple[str, ...]
    value: Json


@dataclass(slots=True)
class Lowering:
    """What has been gathered so far; only ever grows."""

    merged: Merged
    catalogue: Catalogue
    lives: Mapping[str, Life]
    settings: dict[str, Setting] = field(default_factory=dict)
    environment: dict[str, Variable] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def set(self, wish: Wish) -> None:
        """Add the flag that fulfils `wish`, or say why there is none."""
        flag = next((known for name in wish.flags if (known := self.catalogue.flag(name)) and _usable(known)), None)
        if flag is None:
            self.diagnostics.append(self._not_here(wish))
            return
        place = self.merged.place(wish.path)
        setting = Setting(flag.dest, wish.value, flag.name, dotted(wish.path), place, spelled(flag, wish.value))
        if before := self.settings.get(flag.dest):
            self._twice(flag.name, before, setting)
        else:
            self.settings[flag.dest] = setting

    def export(self, name: str, value: str, path: KeyPath) -> None:
        """Add an environment variable."""
        variable = Variable(name, value, dotted(path), self.merged.place(path))
        if before := self.environment.get(name):
            self._twice(name, before, variable)
        else:
            self.environment[name] = variable

    def _twice(self, name: str, before: Setting | Variable, again: Setting | Variable) -> None:
        related = (Related(before.place, f"first here, as {before.path}"),) if before.place else ()
        self.diagnostics.append(
            Diagnostic(
                "written-twice",
                Level.ERROR,
                f"{name} is said twice: by {before.path} and by {again.path}",
                (name,),
                again.place,
                "again here",
                related,
                effect="only one of them could take effect",
                remedy=f"keep {before.path} and remove {again.path}",
            )
        )

    def _not_here(self, wish: Wish) -> Diagnostic:
        name = wish.flags[0]
        lives = [life for flag in wish.flags if (life := self.lives.get(flag))]
        told = "; ".join(_span(life) for life in lives) or f"{name} is in no release that we know"
        return Diagnostic(
            "setting-not-in-version",
            Level.ERROR,
            f"SGLang {self.catalogue.version} cannot express {dotted(wish.path)}",
            (name,),
            self.merged.place(wish.path),
            told,
            effect="the engine would refuse to start: unrecognized arguments",
            evidence=(f"enforced: flag catalogue of SGLang {self.catalogue.version}",),
            remedy="remove it, or use an engine version that has it",
        )


def launch(
    profile: Profile, merged: Merged, catalogue: Catalogue, lives: Mapping[str, Life]
) -> tuple[Launch, tuple[Diagnostic, ...]]:
    """What `profile` starts, and what this engine version cannot express or is said twice.

    `lives` tells since and until when a flag exists, by name; names and values of flags and variables are judged
    later, for profiles and imported scripts alike.
    """
    lowering = Lowering(merged, catalogue, lives)
    for path, metadata, value in _leaves(profile):
        for note in metadata:
            if isinstance(note, Says) and not (isinstance(value, bool) and value != note.when):
                lowering.set(Wish(path, note.flags, value if not isinstance(value, bool) else True))
            elif isinstance(note, Env):
                lowering.export(note.name, _text(value), path)
    _attention_dp(profile, lowering)
    _graphs(profile, lowering)
    _devices(profile, lowering)
    for section in (("nccl", "env"), ("kernels", "toggles"), ("env",)):
        for name, value in _at(profile, section).items():
            lowering.export(name, _text(value), (*section, name))
    arguments = _arguments(profile, lowering)
    engine = profile.engine
    return (
        Launch(
            engine.version,
            {**lowering.settings, **arguments},
            lowering.environment,
            engine.build,
            tuple(_provided(provides, engine) for provides in engine.provides),
        ),
        tuple(lowering.diagnostics),
    )


def _leaves(section: BaseModel, path: KeyPath = ()) -> Iterator[tuple[KeyPath, list[Any], Any]]:
    """Every field that was given a value, in the order of the model, with its annotations."""
    for name, info in type(section).model_fields.items():
        value = getattr(section, name)
        if isinstance(value, BaseModel):
            yield from _leaves(value, (*path, name))
        elif value is not None:
            yield (*path, name), info.metadata, value


def _attention_dp(profile: Profile, lowering: Lowering) -> None:
    size = profile.parallel.attention_dp
    if size is None:
        return
    if lowering.catalogue.flag("--attn-dp-size"):
        lowering.set(Wish(ATTENTION_DP, ("--attn-dp-size",), size))
    else:
        # Up to 0.5.21 attention DP is a mode of --dp-size; a profile that also asks for replicas says it twice.
        lowering.set(Wish(ATTENTION_DP, ("--dp-size",), size))
        lowering.set(Wish(ATTENTION_DP, ("--enable-dp-attention",), True))


def _graphs(profile: Profile, lowering: Lowering) -> None:
    decode, prefill = profile.cuda_graph.decode, profile.cuda_graph.prefill
    if decode.enabled is False:
        _off(lowering, (*DECODE, "enabled"), "--cuda-graph-backend-decode", "--disable-cuda-graph")
    if prefill.enabled is False and not _prefill_is_off_by_default(lowering.catalogue):
        _off(lowering, (*PREFILL, "enabled"), "--cuda-graph-backend-prefill", "--disable-piecewise-cuda-graph")
    if prefill.enabled is True and _prefill_is_off_by_default(lowering.catalogue):
        lowering.set(Wish((*PREFILL, "enabled"), ("--enable-piecewise-cuda-graph",), True))


def _off(lowering: Lowering, path: KeyPath, backend: str, disable: str) -> None:
    if lowering.catalogue.flag(backend):
        lowering.set(Wish(path, (backend,), "disabled"))
    else:
        lowering.set(Wish(path, (disable,), True))


def _prefill_is_off_by_default(catalogue: Catalogue) -> bool:
    # Up to 0.5.9 prefill graphs are opted into; from 0.5.10 on they are opted out of.
    return not (catalogue.flag("--disable-piecewise-cuda-graph") or catalogue.flag("--cuda-graph-backend-prefill"))


def _devices(profile: Profile, lowering: Lowering) -> None:
    if profile.hardware.devices and not profile.engine.container:
        path = ("hardware", "devices")
        # Without it, CUDA counts the fastest card first, and index 2 is another card than in nvidia-smi.
        lowering.export("CUDA_DEVICE_ORDER", "PCI_BUS_ID", path)
        lowering.export("CUDA_VISIBLE_DEVICES", ",".join(map(str, profile.hardware.devices)), path)


def _at(profile: Profile, path: tuple[str, ...]) -> Mapping[str, Any]:
    value: Any = profile
    for name in path:
        value = getattr(value, name)
    return value  # type: ignore[no-any-return] # the three paths are mappings


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _usable(flag: Flag) -> bool:
    return flag.action not in {"ignore", "refuse"}


def _span(life: Life) -> str:
    return f"{life.name} exists since {life.since}" + (f", up to {life.until}" if life.until else "")


def _provided(provides: Provides, engine: Engine) -> Provided:
    return Provided(
        provides.because,
        provides.setting,
        provides.env,
        provides.value,
        provides.evidence or "",
        engine.build or f"SGLang {engine.version}",
    )
