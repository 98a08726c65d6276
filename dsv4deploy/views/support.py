"""A support bundle as files."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

import yaml

from dsv4deploy.node.scrub import scrubbed


def files(told: Mapping[str, Any], digest: str, marks: Mapping[str, str]) -> dict[str, str]:
    """Texts by name: what the node told, and the marks of this deployment; what looks like a secret goes once more."""
    process = told["process"]
    parts = {
        "release.txt": f"{digest}\n",
        "profile.yaml": yaml.safe_dump(dict(told["profile"]), sort_keys=False, allow_unicode=True),
        "launch.txt": shlex.join(process["cmdline"]) + "\n",
        "environment.txt": "".join(f"{name}={value}\n" for name, value in process["environment"].items()),
        "log.txt": "".join(f"{line}\n" for line in told["log"]),
        "topology.txt": told["topology"] or "nvidia-smi does not answer\n",
        "cards.txt": told["cards"] or "nvidia-smi does not answer\n",
    }
    for name in ("manifest", "versions", "machine", "unit", "drift", "history"):
        parts[f"{name}.json"] = json.dumps(told[name], indent=2, sort_keys=True) + "\n"
    parts |= {f"marks/{name}": text for name, text in marks.items()}
    return {name: scrubbed(text) for name, text in parts.items()}
