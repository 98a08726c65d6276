"""The command that starts the engine, as lines of bash: a venv's interpreter or a container, one flag a line."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dsv4deploy.model.launch import Launch
from dsv4deploy.model.profile import Profile
from dsv4deploy.model.profile.engine import Container
from dsv4deploy.stages.quoting import shell

if TYPE_CHECKING:
    from dsv4deploy.model.patch import Patch

# SGLang's own doors: a module to run, and the console script with the function behind it.
MODULE = "sglang.launch_server"
SCRIPT, FUNCTION = "sglang", "sglang.cli.main:main"
MOUNTED_ENTRY = "/dsv4deploy/entry.py"


def keys(profile: Profile) -> Mapping[str, str]:
    """API keys by name, each as the path of the file that holds it."""
    server = profile.server
    files = {"api_key": server.api_key_file, "admin_api_key": server.admin_api_key_file}
    return {name: path for name, path in files.items() if path}


def lines(profile: Profile, launch: Launch, patches: "Sequence[Patch]" = ()) -> tuple[str, ...]:
    """What follows `exec`, one line an item, quoted; keys come in as shell variables, so nothing secret is here."""
    flags = [" ".join(map(shell, setting.words)) for setting in launch.settings.values() if setting.words]
    launcher = [" ".join(map(shell, profile.service.launcher))] if profile.service.launcher else []
    container = profile.engine.container
    wrapper = _docker(profile, container, launch, patches) if container else []
    return (*launcher, *wrapper, *_engine(profile), *flags)


def _engine(profile: Profile) -> Sequence[str]:
    engine = profile.engine
    bin_ = f"{engine.venv}/bin/" if engine.venv else ""
    python = engine.container.python if engine.container else f"{bin_}python"
    serve = engine.entry == "serve"
    if secret := keys(profile):
        entry = MOUNTED_ENTRY if engine.container else '"$here/entry.py"'
        files = [f"--{name.replace('_', '-')}-file={_key_path(profile, name)}" for name in secret]
        return [f"{shell(python)} {entry} {FUNCTION if serve else MODULE}", *files, "--", *(["serve"] if serve else [])]
    return [f"{shell(bin_ + SCRIPT)} serve" if serve else f"{shell(python)} -m {MODULE}"]


def _key_path(profile: Profile, name: str) -> str:
    return f"/run/secrets/{name}" if profile.engine.container else f'"${name}"'


def _docker(profile: Profile, container: Container, launch: Launch, patches: "Sequence[Patch]") -> Sequence[str]:
    devices = profile.hardware.devices
    cards = f'"device={",".join(map(str, devices))}"' if devices else "all"
    # The value travels through docker's own environment, so that no quoting of a second language is needed.
    names = [name for name, variable in launch.environment.items() if variable.path != "hardware.devices"]
    mounts = {path: path for path in _paths(profile) if path.startswith("/")} | dict(container.mounts)
    return [
        "docker run --rm --init",
        f"--name {profile.name}",
        f"--gpus {shell(cards)}",
        "--network host --ipc host",
        f"--shm-size {container.shm_size} --ulimit memlock=-1 --ulimit stack=67108864",
        *(f"--env {name}" for name in names),
        *(f"--volume {shell(f'{source}:{target}:ro')}" for source, target in mounts.items()),
        *(f'--volume "${name}":/run/secrets/{name}:ro' for name in keys(profile)),
        *(f"--volume {mount}" for patch in patches for mount in _mounts(patch, container)),
        *([f'--volume "$here/entry.py":{MOUNTED_ENTRY}:ro'] if keys(profile) else []),
        container.image,
    ]


def _mounts(patch: "Patch", container: Container) -> Sequence[str]:
    """The files of a patch over those of the image, which stays as it is."""
    folder = container.packages[patch.about.fits.package]
    return [
        f'"$here/"{shell(f"patches/{patch.about.name}/{part.name}")}:{shell(f"{folder}/{part.target}")}:ro'
        for part in patch.parts
    ]


def _paths(profile: Profile) -> Sequence[str]:
    model, draft = profile.model, profile.speculative.draft_model
    return [path for path in (model.path, model.tokenizer_path, model.chat_template, draft) if path]
