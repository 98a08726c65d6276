"""What a launch file becomes as a profile: the same server, with nothing dropped."""

import pytest
from house import SUPERVISED, Written, bundle_of, looked, text_of
from hypothesis import HealthCheck, given, reject, settings
from profiles import MadeUp, profiles

from dsv4deploy.flags import history
from dsv4deploy.flow import Looked
from dsv4deploy.model.diagnostic import Refused
from dsv4deploy.source.launch_file import imported
from dsv4deploy.stages.imported_launch import chosen
from dsv4deploy.stages.imported_profile import SECRETS, Draft, draft
from dsv4deploy.views.profile_text import render

IDS = [f"{path.parent.name}/{path.stem}" for path in SUPERVISED]


def drafted(text: str, version: str = "0.5.13.post1", file: str = "launch.sh", **files: str) -> Draft:
    read = imported(Written({file: text, **files}), file)
    return draft(read, chosen(read), history().at(version))


def back(seen: Looked) -> Looked:
    """The profile, rendered, imported and looked at again."""
    bundle = bundle_of(seen)
    unit = f"{seen.profile.name}.service"
    texts = Written({name: text_of(bundle, name) for name in ("serve.sh", "nccl.env", unit)})
    read = imported(texts, unit)
    again = draft(read, chosen(read), seen.catalogue, name=seen.profile.name)
    # Keys belong into files, and caches of kernels stay outside a container.
    left = [
        left for left in again.left if not left.reason.startswith("a secret") and "the container" not in left.reason
    ]
    assert left == []
    assert not again.missing
    return looked(render(again, unit))


def means(seen: Looked) -> dict[str, object]:
    """What takes effect: the settings, the variables, and how the service runs."""
    values = {dest: setting.value for dest, setting in seen.launch.settings.items() if dest not in SECRETS}
    variables = {name: variable.value for name, variable in seen.launch.environment.items()}
    profile = seen.profile
    engine = (profile.engine.version, profile.engine.venv, profile.engine.container, profile.engine.entry)
    return {
        "settings": values,
        "variables": variables,
        "engine": engine,
        "service": profile.service,
        "devices": profile.hardware.devices,
        "nccl": profile.nccl.env_file,
    }


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(profiles())
def test_importing_what_was_rendered_gives_the_same_server(made_up: MadeUp) -> None:
    assert_same_server(made_up)


@pytest.mark.soak
@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@given(profiles())
def test_importing_500_rendered_profiles_gives_the_same_servers(made_up: MadeUp) -> None:
    assert_same_server(made_up)


def assert_same_server(made_up: MadeUp) -> None:
    try:
        seen = looked(made_up.text)
    except Refused:
        # PyYAML leaves `08` unquoted, which we do not take for text.
        reject()
    assert means(back(seen)) == means(seen)


@pytest.mark.parametrize("path", SUPERVISED, ids=IDS)
def test_importing_a_rendered_example_gives_the_same_server(path: object) -> None:
    seen = looked(path)  # type: ignore[arg-type]
    assert means(back(seen)) == means(seen)


CONTAINER = f"""
name: boxed
engine: {{version: 0.5.20, container: {{image: "lmsysorg/sglang@sha256:{"0" * 64}", shm_size: 16g, mounts: {{/a: /b}}}}}}
model: {{path: /models/m, chat_template: /models/t.jinja}}
hardware: {{devices: [2, 3]}}
server: {{api_key_file: /etc/key}}
nccl: {{p2p_level: SYS}}
env: {{MY_X: "a b"}}
"""
VENV = f"""
name: full
engine: {{version: 0.5.20, venv: /opt/v, entry: serve}}
model: {{path: /models/m}}
hardware: {{devices: ["GPU-0a", "GPU-1b"]}}
server: {{api_key_file: /etc/key, admin_api_key_file: /etc/admin}}
nccl: {{env_file: /etc/nccl.env, debug: INFO, env_file_sha256: "{"ab" * 32}"}}
service:
  user: me
  launcher: [numactl, --cpunodebind=0, --membind=0]
  limits: {{nofile: 4096, memlock: 1000000}}
  restart: {{policy: always, delay_s: 3}}
  timeouts: {{stop_s: 5}}
  cache: /data/cache
"""


@pytest.mark.parametrize("text", [CONTAINER, VENV], ids=["container", "venv"])
def test_importing_a_rendered_profile_with_everything_around_the_engine(text: str) -> None:
    seen = looked(text)
    again = back(seen)
    assert means(again) == means(seen)
    assert again.profile.server == seen.profile.server
    assert again.profile.nccl == seen.profile.nccl
