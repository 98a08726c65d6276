"""From an imported start to a profile: typed fields where the profile has them, `args` and `env` for the rest.

Nothing is dropped: what has no place in a profile is listed with its reason.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dsv4deploy.model.argv import ArgvError
from dsv4deploy.model.document import KeyPath
from dsv4deploy.model.flag import Catalogue
from dsv4deploy.model.imported import Command, Imported, Remainder, Sure, Word
from dsv4deploy.model.launch import Json, Setting
from dsv4deploy.model.place import Place
from dsv4deploy.model.profile.engine import how_to_pin
from dsv4deploy.model.shapes import VARIABLE
from dsv4deploy.node.scrub import HIDDEN, secret_name
from dsv4deploy.stages.command import MOUNTED_ENTRY
from dsv4deploy.stages.imported_fields import (
    DIRECTIVES,
    Entry,
    as_tree,
    flag_fields,
    in_order,
    refused_paths,
    section,
    variable_fields,
    variable_value,
)
from dsv4deploy.stages.imported_launch import Arguments, arguments
from dsv4deploy.stages.render import CACHE, CACHES

SECRETS = {"api_key": "server.api_key_file", "admin_api_key": "server.admin_api_key_file"}
_KEY_FILES: Mapping[str, KeyPath] = {
    "--api-key-file": ("server", "api_key_file"),
    "--admin-api-key-file": ("server", "admin_api_key_file"),
}
_MOUNTED_KEYS: Mapping[str, KeyPath] = {
    "/run/secrets/api_key": ("server", "api_key_file"),
    "/run/secrets/admin_api_key": ("server", "admin_api_key_file"),
}
# How a rendered script holds the file to its digest.
_PINNED = re.compile(r'sha256sum <"\$env_file"\)" != "([0-9a-f]{64})  -"')
_FLAG_NAME = re.compile(r"--[A-Za-z0-9][A-Za-z0-9_-]*")
_CACHE = re.compile(r"(?P<parent>/.+)/[0-9a-f]{12}/(?P<kind>\w+)")
_PYTHON = re.compile(r"(?P<venv>/.+)/bin/(?:python[\d.]*|sglang)")
_TAG_VERSION = re.compile(r":v?(\d+\.\d+\.\d+(?:\.post\d+|rc\d+)?)(?:-|@|$)")
# The service does what these were for.
_SUPERVISES = {"exec", "nohup", "setsid", "env", "command", "sudo", "gosu", "tini", "dumb-init", "unbuffer", "time"}
_LAUNCHERS = {"numactl", "taskset", "nice", "ionice", "chrt", "stdbuf"}
# Paths that a rendered `docker run` mounts by itself.
_MOUNTED_PATHS = {"model_path", "tokenizer_path", "chat_template", "speculative_draft_model_path"}
_RENDERED_OPTIONS = {
    ("rm", "true"), ("init", "true"), ("detach", "true"), ("interactive", "true"), ("tty", "true"),
    ("ipc", "host"), ("network", "host"), ("gpus", "all"), ("ulimit", "memlock=-1"), ("ulimit", "stack=67108864"),
}  # fmt: skip
# What a rendered container has by other means.
_SAID_OTHERWISE = {
    "publish": "a rendered container shares the node's network: server.port is what clients reach, with server.host 0.0.0.0",
    "restart": "service.restart says when it is started again",
    "log-opt": "service.log says where the output goes",
    "log-driver": "service.log says where the output goes",
    "runtime": "--gpus of a rendered container asks for the cards",
}


@dataclass(frozen=True, slots=True)
class Draft:
    """A profile as far as a launch file says it.

    Attributes:
        entries: its values, in the order of the profile.
        missing: what a profile needs and the file does not say: the key paths, and how to find it if that can be told.
        left: what was understood but has no place in a profile, and what was not understood.
    """

    entries: tuple[Entry, ...]
    missing: Mapping[str, str]
    left: tuple[Remainder, ...]

    @property
    def tree(self) -> dict[str, Any]:
        """The values as a profile file would have them."""
        return as_tree(self.entries)


def draft(
    imported: Imported, command: Command, catalogue: Catalogue, *, name: str | None = None, venv: str | None = None
) -> Draft:
    """The profile that starts the same server with the engine version of `catalogue`."""
    drafting = _Drafting(imported, command, catalogue, arguments(command, catalogue))
    drafting.engine(venv)
    drafting.settings()
    drafting.environment()
    drafting.service()
    drafting.around()
    drafting.add(("name",), name or drafting.own_name())
    drafting.settle()
    left = sorted([*imported.remainder, *drafting.left], key=lambda one: one.place)
    return Draft(in_order(drafting.entries.values()), drafting.missing(), tuple(left))


def version_in_image(command: Command) -> str | None:
    """The release that the tag of the image names (`lmsysorg/sglang:v0.5.13-cu129`)."""
    image = command.container.image.text if command.container and command.container.image else ""
    found = _TAG_VERSION.search(image)
    return found[1] if found else None


@dataclass(slots=True)
class _Drafting:
    imported: Imported
    command: Command
    catalogue: Catalogue
    said: Arguments
    entries: dict[KeyPath, Entry] = field(default_factory=dict)
    left: list[Remainder] = field(default_factory=list)

    def missing(self) -> dict[str, str]:
        """What is to be filled in."""
        found = {} if self.has(("engine", "venv")) or self.has(("engine", "container")) else {"engine.venv": ""}
        image = self.command.container.image if self.command.container else None
        if image and "@" not in image.text:
            found["engine.container.image"] = f"its digest: {how_to_pin(image.text)}"
        return found if self.has(("model", "path")) else {**found, "model.path": ""}

    def add(
        self, path: KeyPath, value: object, word: Word | None = None, place: Place | None = None, remark: str = ""
    ) -> None:
        """Say one value."""
        remark = "unless the caller sets it otherwise" if word and word.sure is Sure.DEFAULT else remark
        self.entries[path] = Entry(path, value, place or (word.place if word else None), remark)

    def has(self, path: KeyPath) -> bool:
        """Whether a value at or below `path` was said."""
        return any(known[: len(path)] == path for known in self.entries)

    def leave(self, words: Sequence[Word], reason: str) -> None:
        """Name what has no place in a profile."""
        if words:
            self.left.append(Remainder(" ".join(word.text for word in words), words[0].place, reason))

    # Engine.

    def engine(self, venv: str | None) -> None:
        """Release, virtual environment or image, entry point."""
        self.add(("engine", "version"), self.catalogue.version)
        if self.command.entry == "serve":
            self.add(("engine", "entry"), "serve")
        if self.command.container:
            return self._container()
        lead = self.command.lead
        found = _PYTHON.fullmatch(lead[0].text) if lead and lead[0].known else None
        if venv:
            self.add(("engine", "venv"), venv)
        elif found:
            self.add(("engine", "venv"), found["venv"], lead[0])
        elif self.command.venv and self.command.venv.known:
            self.add(("engine", "venv"), self.command.venv.text, self.command.venv)
        return self._lead(lead)

    def _lead(self, lead: Sequence[Word]) -> None:
        """What stands between the interpreter and the engine's module."""
        for word in lead[1:]:
            name, _, path = word.text.partition("=")
            if name in _KEY_FILES and word.known:
                self.add(_KEY_FILES[name], path, word)
        own = next((at for at, word in enumerate(lead) if word.text.startswith("-m") or word.text.endswith(".py")), 1)
        self.leave([word for word in lead[1:own] if word.text != "-u"], "an option of the interpreter")

    def _container(self) -> None:
        container = self.command.container
        if container is None or container.image is None:
            return
        self.add(("engine", "container", "image"), container.image.text, container.image, remark=_tag(container.image))
        if self.command.lead and self.command.lead[0].text not in {"python3", "sglang"}:
            self.add(("engine", "container", "python"), self.command.lead[0].text, self.command.lead[0])
        for name, word in container.options:
            self._option(name, word)

    def _option(self, name: str, word: Word) -> None:
        devices = re.fullmatch(r'"?device=([^"]+)"?', word.text) if name == "gpus" else None
        rendered = (name, word.text) in _RENDERED_OPTIONS or word.text.endswith(f"/entry.py:{MOUNTED_ENTRY}:ro")
        if name in {"env", "env-file", "entrypoint"} or rendered:
            return
        if devices:
            self.add(("hardware", "devices"), _devices(devices[1]), word)
        elif name == "shm-size":
            self.add(("engine", "container", "shm_size"), word.text.lower(), word)
        elif name == "name":
            self.add(("name",), word.text, word)
        elif name == "volume" and (mount := re.fullmatch(r"(/[^:]*):(/[^:]*?)(:ro)?", word.text)) and word.known:
            self._mount(mount[1], mount[2], word, read_only=bool(mount[3]))
        else:
            reason = _SAID_OTHERWISE.get(name, "no field of a profile says it")
            self.left.append(Remainder(f"--{name} {word.text}", word.place, reason))

    def _mount(self, source: str, target: str, word: Word, *, read_only: bool) -> None:
        if target in _MOUNTED_KEYS:
            return self.add(_MOUNTED_KEYS[target], source, word)
        own = {setting.value for dest, setting in self.said.settings.items() if dest in _MOUNTED_PATHS}
        if source == target and source in own and read_only:
            return None
        path = ("engine", "container", "mounts")
        mounts = self.entries[path].value if path in self.entries else {}
        self.add(path, {**mounts, source: target}, word)
        return None if read_only else self.leave([word], "mounts of a profile are read-only, this one is not")

    # Settings.

    def settings(self) -> None:
        """Every argument that the engine understands, and those that it does not."""
        said = dict(self.said.settings)
        self._attention_dp(said)
        self._graphs(said)
        for setting in said.values():
            self._setting(setting)
        for error in self.said.parsed.errors:
            self._error(error)
        for word, flag in self.said.unknown:
            self.leave([word], f"{flag or 'an argument'}: not known here, needs {', '.join(word.needs)}")
        for given in self.said.parsed.shadowed:
            self.leave([self.said.words[at] for at in given.words], "given again later, and the last one counts")

    def _attention_dp(self, said: dict[str, Setting]) -> None:
        size = said.get("dp_size")
        if self.catalogue.flag("--attn-dp-size"):
            own = said.pop("attn_dp_size", None)
            if own:
                self.add(("parallel", "attention_dp"), own.value, place=own.place)
        elif size and "enable_dp_attention" in said:
            del said["dp_size"], said["enable_dp_attention"]
            self.add(("parallel", "attention_dp"), size.value, place=size.place)

    def _graphs(self, said: dict[str, Setting]) -> None:
        """The old switches, in versions where the profile's own fields become them."""
        for phase, dest in (("decode", "disable_cuda_graph"), ("prefill", "disable_piecewise_cuda_graph")):
            if dest in said and not self.catalogue.flag(f"--cuda-graph-backend-{phase}"):
                self.add(("cuda_graph", phase, "enabled"), False, place=said.pop(dest).place)

    def _setting(self, setting: Setting) -> None:
        if setting.dest in SECRETS:
            return self._secret(setting.flag, setting.place or self.command.place, SECRETS[setting.dest])
        path, when = flag_fields(self.catalogue).get(setting.dest, ((), True))
        if path and not isinstance(setting.value, bool):
            return self.add(path, _plain(setting.value), self._word(setting), setting.place)
        if path and setting.value is True:
            return self.add(path, when, place=setting.place)
        return self._argument(setting)

    def _secret(self, flag: str, place: Place, path: str) -> None:
        reason = f"a secret: write it to a file of mode 0600 on the node and name that as {path}"
        self.left.append(Remainder(f"{flag} {HIDDEN}", place, reason))

    def _argument(self, setting: Setting) -> None:
        """A flag that no field says, by its own name."""
        if setting.words:
            flag = self.catalogue.flag(setting.flag)
            value = _argument_value(setting, many=flag is not None and flag.nargs in {"*", "+"})
            self.add(("args", setting.flag.removeprefix("--")), value, self._word(setting), setting.place)

    def _word(self, setting: Setting) -> Word | None:
        return next((word for word in self.said.words if word.place == setting.place), None)

    def _error(self, error: ArgvError) -> None:
        words = [self.said.words[at] for at in error.words]
        name, equals, joined = words[0].text.partition("=") if words else ("", "", "")
        secret = SECRETS.get(name.removeprefix("--").replace("-", "_"))
        if secret and (equals or len(words) > 1):
            return self._secret(name, words[0].place, secret)
        if secret or not _FLAG_NAME.fullmatch(name) or name == "--help":
            return self.leave(words, "the engine takes it for no argument")
        values = [joined] if equals else [word.text for word in words[1:]]
        value: Any = True if not values else values[0] if len(values) == 1 else values
        return self.add(("args", name.removeprefix("--")), value, words[-1])

    # Environment.

    def environment(self) -> None:
        """Variables: typed ones, those of NCCL, and the rest; files of the node."""
        variables = dict(self.command.environment)
        self._node_file(variables)
        self._caches(variables)
        self._cards(variables)
        for name, word in variables.items():
            if not re.fullmatch(VARIABLE, name):
                self.left.append(Remainder(f"{name}={word.text}", word.place, "no name that a variable can have"))
                continue
            if word.known and word.text and secret_name(name):
                reason = "a secret: export it in a file of mode 0600 on the node and name that as nccl.env_file"
                self.left.append(Remainder(f"{name}={HIDDEN}", word.place, reason))
                continue
            path = variable_fields().get(name) or (*section(name), name)
            if word.known:
                self.add(path, variable_value(path, word.text), word)
            else:
                self.leave([word], f"{name}: not known here, needs {', '.join(word.needs)}")
        for name in self.command.removed:
            self.left.append(
                Remainder(f"unset {name}", self.command.place, "a profile sets variables and removes none")
            )

    def _node_file(self, variables: dict[str, Word]) -> None:
        for at, word in enumerate(self.command.env_files):
            if at:
                self.leave([word], "a profile has one file that is sourced first: nccl.env_file")
                continue
            self.add(("nccl", "env_file"), word.text, word)
            pins = (_PINNED.search("\n".join(lines)) for lines in self.imported.sources.values())
            for pin in filter(None, pins):
                self.add(("nccl", "env_file_sha256"), pin[1], word)
            for name in [name for name, found in variables.items() if found.place.file == word.text]:
                del variables[name]

    def _caches(self, variables: dict[str, Word]) -> None:
        """What a rendered start adds for the caches of kernels comes back by itself."""
        for name, kind in CACHES.items():
            found = _CACHE.fullmatch(variables[name].text) if name in variables else None
            if found and found["kind"] == kind:
                word = variables.pop(name)
                if found["parent"] != CACHE:
                    self.add(("service", "cache"), found["parent"], word)

    def _cards(self, variables: dict[str, Word]) -> None:
        order, cards = variables.get("CUDA_DEVICE_ORDER"), variables.get("CUDA_VISIBLE_DEVICES")
        if order and cards and order.text == "PCI_BUS_ID" and (devices := _devices(cards.text)):
            del variables["CUDA_DEVICE_ORDER"], variables["CUDA_VISIBLE_DEVICES"]
            self.add(("hardware", "devices"), devices, cards)

    # Service.

    def service(self) -> None:
        """Programs in front, limits, and what a unit says."""
        launcher: list[str] = []
        for prefix in self.command.prefixes:
            user = _user(prefix.words) if prefix.name in {"sudo", "gosu"} else None
            if user:
                self.add(("service", "user"), user.text, user)
            if prefix.name in _LAUNCHERS and all(word.known for word in prefix.words):
                launcher += [word.text for word in prefix.words]
                self.add(("service", "launcher"), launcher, prefix.words[0])
            elif prefix.name not in _SUPERVISES:
                self.leave(prefix.words, "the service starts the engine without it")
        for name, word in {**self.command.limits, **self.command.service}.items():
            self._directive(name, word)

    def _directive(self, name: str, word: Word) -> None:
        if name not in DIRECTIVES:
            return self.left.append(Remainder(f"{name} {word.text}", word.place, "no field of a profile says it"))
        found = DIRECTIVES[name]
        value = found.read(word.text) if found else None
        if found and value is not None and word.known:
            return self.add(found.path, value, word) if value != found.default else None
        return self.leave([word], f"{name}: a profile cannot say this value") if found else None

    def around(self) -> None:
        """Where the output goes, where it runs, and whether it runs."""
        for output in self.command.outputs:
            reason = "the service keeps the output: service.log says where"
            self.left.append(Remainder(output.role, output.place, reason))
        if self.command.condition:
            reason = "the start depends on it; the profile always starts"
            self.left.append(Remainder(self.command.condition, self.command.place, reason))
        folder = self.command.folder
        if folder and folder.text and "the folder of the script" not in folder.needs:
            self.leave([folder], "the service runs in the folder of its release; relative paths must become absolute")

    def own_name(self) -> str:
        """A name for the server, from the name it serves under or its model's folder."""
        if ("name",) in self.entries:
            return str(self.entries["name",].value)
        found = self.entries.get(("model", "served_name")) or self.entries.get(("model", "path"))
        text = str(found.value).rstrip("/").rpartition("/")[2].lower() if found else ""
        return re.sub(r"[^a-z0-9]+", "-", text)[:40].strip("-") or "server"

    def settle(self) -> None:
        """Move what a typed field refuses to `args` or `env`, where the engine's own rules judge it."""
        for path in refused_paths(as_tree(self.entries.values())):
            entry = self.entries.get(path)
            setting = self._at(path)
            variable = next((name for name, own in variable_fields().items() if own == path), None)
            if entry and setting:
                del self.entries[path]
                self._argument(setting)
            elif entry and variable:
                del self.entries[path]
                word = self.command.environment[variable]
                self.add((*section(variable), variable), word.text, word)

    def _at(self, path: KeyPath) -> Setting | None:
        fields = flag_fields(self.catalogue)
        return next((one for one in self.said.settings.values() if fields.get(one.dest, ((),))[0] == path), None)


def _user(words: Sequence[Word]) -> Word | None:
    options = [at for at, word in enumerate(words[:-1]) if word.text in {"-u", "--user"}]
    return words[options[-1] + 1] if options else None


def _tag(image: Word) -> str:
    """The tag of an image, which stays in the profile when the digest has come."""
    _, colon, tag = image.text.rpartition("/")[2].partition("@")[0].partition(":")
    return f"tag {tag}" if colon else ""


def _devices(text: str) -> list[int | str]:
    return [int(part) if part.isdigit() else part for part in text.split(",") if part]


def _plain(value: Json) -> Any:  # noqa: ANN401 (whatever YAML holds)
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def _argument_value(setting: Setting, *, many: bool) -> Any:  # noqa: ANN401 (whatever YAML holds)
    values = [setting.words[0].partition("=")[2]] if "=" in setting.words[0] else list(setting.words[1:])
    if not values:
        return not setting.words[0].startswith("--no-")
    value = setting.value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return values if many else values[0]
