"""Launch files of every kind give the same answer, and nothing in the given ones is lost."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from dsv4deploy.model.imported import Command, Imported
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.source.launch_file import imported

LAUNCHES = [json.loads(line) for line in (Path(__file__).parents[2] / "data/launches.jsonl").read_text().splitlines()]


class Written:
    """Texts that exist only here."""

    def __init__(self, texts: Mapping[str, bytes | str]) -> None:
        self.texts = {name: text.encode() if isinstance(text, str) else text for name, text in texts.items()}

    def read(self, path: str) -> bytes:
        """The bytes of the file at `path`."""
        if path not in self.texts:
            raise Trouble(f"there is no file {path}")
        return self.texts[path]


def read(path: str, files: Mapping[str, bytes | str]) -> Imported:
    return imported(Written(files), path)


def told(command: Command) -> tuple[list[str], dict[str, str]]:
    return [word.text for word in command.argv], {name: word.text for name, word in command.environment.items()}


def as_script(argv: list[str], env: dict[str, str]) -> str:
    exports = [f"export {name}={shlex.quote(value)}" for name, value in env.items()]
    words = " \\\n    ".join(map(shlex.quote, argv))
    return "\n".join(
        ["#!/bin/bash", "set -euo pipefail", *exports, f"exec python -m sglang.launch_server \\\n    {words}", ""]
    )


def as_docker(argv: list[str], env: dict[str, str]) -> str:
    options = [f"-e {shlex.quote(f'{name}={value}')}" for name, value in env.items()]
    return " ".join(["docker run --rm", *options, "img python3 -m sglang.launch_server", *map(shlex.quote, argv), "\n"])


def as_unit(argv: list[str], env: dict[str, str]) -> str:
    def item(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$") + '"'

    variables = [f"Environment={item(f'{name}={value}')}" for name, value in env.items()]
    start = " \\\n  ".join(["ExecStart=/opt/v/bin/python -m sglang.launch_server", *map(item, argv)])
    return "\n".join(["[Unit]", "Description=x", "[Service]", *variables, start, "User=sglang", ""])


def as_json(argv: list[str], env: dict[str, str]) -> str:
    return json.dumps({"argv": ["python", "-m", "sglang.launch_server", *argv], "env": env})


@pytest.mark.parametrize("launch", LAUNCHES, ids=lambda launch: launch["id"])
def test_a_public_launch_reads_the_same_from_every_kind_of_file(launch: dict[str, dict[str, str]]) -> None:
    """Every word and every variable of the given launches arrives; nothing is left."""
    argv, env = [str(word) for word in launch["argv"]], {name: str(value) for name, value in launch["env"].items()}
    kinds = {"launch.sh": as_script, "docker.sh": as_docker, "x.service": as_unit, "argv.json": as_json}
    for name, written in kinds.items():
        found = read(name, {name: written(argv, env)})
        assert [told(command) for command in found.commands] == [(argv, env)], name
        assert found.remainder == (), name


def test_a_file_of_a_kind_is_known_by_its_content_too() -> None:
    unit = "[Service]\nExecStart=/opt/v/bin/sglang serve /m\n"
    words = '["--model-path", "/m"]'
    assert read("x", {"x": unit}).kind == "systemd"
    assert read("x", {"x": words}).kind == "json"
    assert read("x", {"x": words}).commands[0].entry == "arguments"
    assert str(read("x", {"x": words}).commands[0].argv[1].place) == "x:1:18"
    assert read("x", {"x": "sglang serve /m"}).kind == "bash"


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"\x7fELF\0"])
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(Trouble, match="no text"):
        read("x.sh", {"x.sh": data})


@pytest.mark.parametrize("text", ["{ " * 3000 + "x" + ";}" * 3000, "if a; then " * 2000 + "x; " + "fi;" * 2000])
def test_what_is_nested_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(Trouble, match="nested too deeply"):
        read("x.sh", {"x.sh": text})


def test_files_are_looked_for_beside_and_named_as_the_user_would() -> None:
    files = {"a/run.sh": "set -a\n. ./env/nccl.env\nsglang serve /m\n", "a/env/nccl.env": "NCCL_DEBUG=WARN\n"}
    found = read("a/run.sh", files)
    assert str(found.commands[0].environment["NCCL_DEBUG"].place) == "a/env/nccl.env:1:12"
    assert list(found.sources) == ["a/run.sh", "a/env/nccl.env"]


# Units.

UNIT = """\
# a comment
[Unit]
Description=SGLang
After=network-online.target

[Service]
User=me
LimitNOFILE=65536
WorkingDirectory=/srv
Environment="A=1 2" 'B=it''s' C=%n
Environment=TP=4
EnvironmentFile=-/etc/sglang.env
EnvironmentFile=/etc/gone.env
ProtectHome=yes
ExecStartPre=/bin/true
ExecStart=+/usr/bin/numactl -N 0 /opt/v/bin/python -m sglang.launch_server \\
  --model-path "/m/a b" --tp ${TP} \\
  # a comment in between
  --x 'q"\\x41\\t' $A $$HOME --name=%i --y ${GONE} \\
  --last

[Install]
WantedBy=multi-user.target
"""


def test_a_unit_is_read_as_systemd_reads_it() -> None:
    found = read("sg.service", {"sg.service": UNIT, "/etc/sglang.env": '# x\nTP=8\nD="a b"\nE=f # g\n'})
    (command,) = found.commands
    assert told(command) == (
        [
            "--model-path",
            "/m/a b",
            "--tp",
            "8",
            "--x",
            'q"A\t',
            "1",
            "2",
            "$HOME",
            "--name=%i",
            "--y",
            "${GONE}",
            "--last",
        ],
        {"A": "1 2", "B": "its", "C": "sg.service", "TP": "8", "D": "a b", "E": "f # g"},
    )
    assert [(word.text, word.needs) for word in command.argv if not word.known] == [
        ("--name=%i", ("%i",)),
        ("${GONE}", ("GONE",)),
    ]
    assert {name: word.text for name, word in command.limits.items()} == {"nofile": "65536"}
    assert command.service["User"].text == "me"
    assert command.folder is not None
    assert command.folder.text == "/srv"
    assert [left.text.strip() for left in found.remainder] == [
        "EnvironmentFile=/etc/gone.env",
        "ProtectHome=yes",
        "ExecStartPre=/bin/true",
    ]
    assert str(command.argv[1].place) == "sg.service:17:16"


def test_a_unit_that_starts_a_script_is_followed_into_it() -> None:
    unit = "[Service]\nEnvironment=TP=4\nExecStart=/bin/bash -c 'exec ./run.sh $$TP'\n"
    found = read("x.service", {"x.service": unit, "run.sh": 'sglang serve /m --tp "$1"'})
    assert told(found.commands[0]) == (["/m", "--tp", "4"], {"TP": "4"})


def test_what_a_unit_starts_and_we_do_not_know_is_left() -> None:
    found = read("x.service", {"x.service": "[Service]\nExecStart=/opt/gone.sh a\n"})
    assert [left.text for left in found.remainder] == ["/opt/gone.sh a"]


# JSON.


def test_what_is_neither_argv_nor_env_is_left() -> None:
    found = read("x.json", {"x.json": '{"argv": ["sglang", "serve", "/m", "--tp", 4], "cwd": "/"}'})
    assert told(found.commands[0]) == (["/m", "--tp", "4"], {})
    assert [left.text for left in found.remainder] == ["cwd: /"]
    assert str(found.commands[0].argv[-1].place) == "x.json:1:44"


# Compose.

COMPOSE = """\
services:
  proxy:
    image: nginx
  sglang:
    image: "lmsysorg/sglang:v0.5.17@sha256:${DIGEST}"
    command: >-
      python3 -m sglang.launch_server --model-path /models/a
      --tp ${TP:-4} --served-model-name 'a b' --x $$HOME
    environment:
      NCCL_P2P_LEVEL: SYS
      SGLANG_X: 1
      HF_TOKEN:
    env_file: [more.env]
    shm_size: 32g
    ipc: host
    init: true
    ulimits: {memlock: -1, stack: {soft: 1, hard: 2}}
    volumes: ["/models:/models:ro"]
    ports: ["30000:30000"]
    healthcheck: {disable: true}
    deploy:
      resources:
        reservations:
          devices: [{driver: nvidia, device_ids: ["0", "1"], capabilities: [gpu]}]
volumes: {}
"""


def test_a_compose_service_is_the_docker_run_that_it_stands_for() -> None:
    found = read("compose.yaml", {"compose.yaml": COMPOSE, "more.env": "A=1\n"})
    (command,) = found.commands
    assert told(command) == (
        ["--model-path", "/models/a", "--tp", "4", "--served-model-name", "a b", "--x", "$HOME"],
        {"A": "1", "NCCL_P2P_LEVEL": "SYS", "SGLANG_X": "1", "HF_TOKEN": "${HF_TOKEN}"},
    )
    assert command.container is not None
    assert command.container.image is not None
    assert command.container.image.needs == ("DIGEST",)
    options = {(name, word.text) for name, word in command.container.options if not name.startswith("env")}
    assert options == {
        ("gpus", "device=0,1"), ("init", "true"), ("ipc", "host"), ("publish", "30000:30000"), ("shm-size", "32g"),
        ("ulimit", "memlock=-1"), ("ulimit", "stack=1:2"), ("volume", "/models:/models:ro"),
    }  # fmt: skip
    assert [left.text for left in found.remainder] == ["proxy", "services.sglang.healthcheck", "volumes"]


def test_other_yaml_is_refused() -> None:
    with pytest.raises(Trouble, match="no services"):
        read("profile.yaml", {"profile.yaml": "name: x\n"})
