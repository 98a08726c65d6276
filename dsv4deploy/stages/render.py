"""Profile and launch to a bundle of finished files; what is rendered here is what lands on the node, byte for byte."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jinja2

from dsv4deploy.model.bundle import Artifact, Bundle
from dsv4deploy.model.launch import Json, Launch
from dsv4deploy.model.profile import Profile
from dsv4deploy.stages import quoting
from dsv4deploy.stages.command import keys, lines
from dsv4deploy.stages.ports import ports
from dsv4deploy.stages.sandbox import directives, under_home

if TYPE_CHECKING:
    from dsv4deploy.model.patch import Patch

ROOT = "/opt/dsv4deploy"
CACHE = "/var/cache/dsv4deploy"
# Where the tool on the node lays patched copies of packages, inside the release.
SHADOW = "shadow"
# Every kernel compiler keeps a cache of its own; one folder holds them all. Source: SGLang 0.5.23 environ.py.
CACHES = {
    "SGLANG_CACHE_DIR": "sglang",
    "TRITON_CACHE_DIR": "triton",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "CUDA_CACHE_PATH": "cuda",
    "TILELANG_CACHE_DIR": "tilelang",
    "FLASHINFER_WORKSPACE_BASE": "flashinfer",
    "SGLANG_DG_CACHE_DIR": "deep_gemm",
    "XDG_CACHE_HOME": "xdg",
}


class Target(NamedTuple):
    """One template and what its header says: which file it makes, under which condition.

    In `target` and `dest`, `{name}` stands for the name of the profile.
    """

    template: str
    target: str
    mode: str = "0644"
    dest: str | None = None
    when: str = "always"


def render(
    profile: Profile,
    launch: Launch,
    templates: Mapping[str, str],
    tool: str,
    patches: "Sequence[Patch]" = (),
    *,
    compiled: jinja2.BytecodeCache | None = None,
) -> Bundle:
    """The bundle of `profile`.

    Args:
        profile: what was written, resolved.
        launch: its flags and environment for this engine version.
        templates: template texts by name, `service/systemd.service.j2`.
        tool: version of dsv4deploy, for the manifest.
        patches: the patches that the profile names, as they were read.
        compiled: keeps the byte code of templates from one run to the next.
    """
    engine = jinja2.Environment(
        loader=jinja2.DictLoader(dict(templates)),
        bytecode_cache=compiled,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 (the targets are shell, units and Python; each item is quoted by its own filter)
    )
    engine.filters |= {
        "shell": quoting.shell,
        "systemd": quoting.systemd,
        "comment": quoting.comment,
        "systemd_rest": quoting.systemd_rest,
    }
    context = _context(profile, launch, patches)
    artifacts = []
    for name in sorted(templates):
        target = header(name, templates[name])
        if _applies(target.when, profile):
            text = engine.get_template(name).render(context)
            dest = target.dest.format(name=profile.name) if target.dest else None
            artifacts.append(Artifact(target.target.format(name=profile.name), text.encode(), target.mode, dest))
    for patch in patches:
        artifacts += [Artifact(f"patches/{patch.about.name}/{part.name}", part.data) for part in patch.parts]
    return Bundle(profile.name, tuple(artifacts), _facts(profile, launch, patches), tool)


def header(name: str, text: str) -> Target:
    """What the comment at the top of a template says of its target.

    Raises:
        ValueError: the template has no such comment.
    """
    if not text.startswith("{#-\n") or "\n-#}" not in text:
        raise ValueError(f"template {name} does not start with a header comment")
    lines = text.removeprefix("{#-\n").split("\n-#}", 1)[0].splitlines()
    return Target(name, **dict(line.split(": ", 1) for line in lines))


def _applies(when: str, profile: Profile) -> bool:
    return {
        "always": True,
        "systemd": profile.service.supervisor == "systemd",
        "keys": bool(keys(profile)),
    }[when]


def build_key(profile: Profile, patches: "Sequence[Patch]" = ()) -> str:
    """What tells apart engines whose compiled kernels must not meet: 12 hex digits over version, build, place, patches."""
    engine = profile.engine
    place = engine.container.image if engine.container else engine.venv
    parts = [engine.kind, engine.version, engine.build, place, *(patch.digest for patch in patches)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]


def _context(profile: Profile, launch: Launch, patches: "Sequence[Patch]") -> dict[str, Any]:
    nccl, service = profile.nccl, profile.service
    default = service.cache is None and service.supervisor == "systemd"
    return {
        "name": profile.name,
        "engine": profile.engine,
        "container": profile.engine.container,
        "served": profile.model.served_name or profile.model.path,
        "service": service,
        "keys": tuple(keys(profile).items()),
        "env_file": {"path": nccl.env_file, "sha256": nccl.env_file_sha256} if nccl.env_file else None,
        "variables": _variables(profile, launch, patches),
        "lines": lines(profile, launch, patches),
        "shadow": SHADOW if _shadowed(profile, patches) else None,
        "python": f"{profile.engine.venv}/bin/python" if under_home([profile.engine.venv]) else None,
        "serve": f"{ROOT}/{profile.name}/current/serve.sh",
        "cache_directory": f"dsv4deploy/{build_key(profile, patches)}" if default else None,
        "cache_parent": service.cache,
        "sandbox": directives(profile),
    }


def _variables(profile: Profile, launch: Launch, patches: "Sequence[Patch]") -> Sequence[Mapping[str, Any]]:
    written = [variable for variable in launch.environment.values() if variable.path]
    cards = [variable for variable in written if variable.path == "hardware.devices"]
    groups = [
        ("Cards by the order of nvidia-smi.", [(v.name, quoting.shell(v.value)) for v in cards]),
        ("Kernel caches, apart from those of other builds.", _caches(profile, launch, patches)),
        ("From the profile.", [(v.name, quoting.shell(v.value)) for v in written if v not in cards]),
    ]
    return tuple({"why": why, "exports": items} for why, items in groups if items)


def _caches(profile: Profile, launch: Launch, patches: "Sequence[Patch]") -> list[tuple[str, str]]:
    folder = f"{quoting.shell(profile.service.cache or CACHE)}/{build_key(profile, patches)}"
    if not profile.service.cache and profile.service.supervisor == "process":
        folder = f'"${{XDG_CACHE_HOME:-$HOME/.cache}}/dsv4deploy/{build_key(profile, patches)}"'
    return [(name, f"{folder}/{kind}") for name, kind in CACHES.items() if name not in launch.environment]


def _facts(profile: Profile, launch: Launch, patches: "Sequence[Patch]") -> Mapping[str, Json]:
    """What the manifest says beside the files; everything that `apply` and `health` must know without a profile."""
    engine, service, server = profile.engine, profile.service, profile.server
    return {
        "engine": {
            "kind": engine.kind,
            "version": engine.version,
            "build": engine.build,
            "python": f"{engine.venv}/bin/python" if engine.venv else None,
            "image": engine.container.image if engine.container else None,
            "rehearsal": engine.rehearsal,
        },
        "service": {
            "supervisor": service.supervisor,
            "user": service.user,
            "start_timeout_s": service.timeouts.start_s,
            "stop_timeout_s": service.timeouts.stop_s,
            "log": service.log.path,
            **_kept(profile),
        },
        "endpoint": {"host": server.host or "127.0.0.1", "port": server.port, "ports": ports(launch)},
        "devices": profile.hardware.devices,
        "model": {"path": profile.model.path, "served_name": profile.model.served_name or profile.model.path},
        "secrets": keys(profile),
        "env_file": {"path": profile.nccl.env_file, "sha256": profile.nccl.env_file_sha256},
        "argv": tuple(word for setting in launch.settings.values() for word in setting.words),
        "environment": {
            name: variable.value
            for name, variable in launch.environment.items()
            # The path of the patched packages comes before this one, and only the node knows it.
            if not (name == "PYTHONPATH" and _shadowed(profile, patches))
        },
        "profile": profile.model_dump(mode="json", exclude_defaults=True),
        **_patching(profile, patches),
    }


def _kept(profile: Profile) -> Mapping[str, Json]:
    """What the process supervisor does itself; under systemd the unit says it."""
    service = profile.service
    if service.supervisor == "systemd":
        return {}
    limits = {"nofile": service.limits.nofile, "memlock": service.limits.memlock}
    return {"log_mib": service.log.max_mib, "log_keep": service.log.keep, "limits": limits}


def _patching(profile: Profile, patches: "Sequence[Patch]") -> Mapping[str, Json]:
    """What the manifest says of patches; nothing if there are none."""
    if not patches:
        return {}
    from dsv4deploy.stages.patching import entries, proofs  # noqa: PLC0415 (few profiles have any)

    return {
        "patching": {"in_place": profile.kernels.in_place, "arch": profile.hardware.arch},
        "patches": entries(patches),
        "proofs": proofs(patches),
    }


def _shadowed(profile: Profile, patches: "Sequence[Patch]") -> bool:
    return bool(patches) and not profile.kernels.in_place and profile.engine.container is None
