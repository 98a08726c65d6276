"""A toy engine called sglang: wheels of it, virtual environments with it, patches for it, bundles that start it."""

import base64
import getpass
import hashlib
import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from house import rendered

from dsv4deploy.model.bundle import Bundle
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.rim import bundles, kernels
from dsv4deploy.rim.nodetool import build

SOURCES = {
    "sglang/__init__.py": '"""A toy."""\n',
    "sglang/launch_server.py": (
        'from sglang.attention import decode\n\n\ndef main():\n    print("decode:", decode())\n\n\nif __name__ == "__main__":\n    main()\n'
    ),
    "sglang/attention.py": (
        '"""Attention."""\n\n\ndef decode():\n    return "stock"\n\n\ndef prefill():\n    return "prefill"\n'
    ),
    "sglang/configs/e8.json": '{"1": {"block": 16}}\n',
}
PATCHED = 'import os\n\n\ndef decode():\n    return "patched " + os.environ.get("TOY_MMA", "0")\n'
# A unified diff has a blank at the beginning of a line that stays, which an editor would take from an empty one.
DIFF = """\
diff --git a/python/sglang/attention.py b/python/sglang/attention.py
--- a/python/sglang/attention.py
+++ b/python/sglang/attention.py
@@ -2,5 +2,5 @@
.
.
 def decode():
-    return "stock"
+    return "diffed"
.
""".replace(".\n", " \n")
PROFILE = """\
name: toy
engine: {{version: 0.5.23, venv: {venv}}}
model: {{path: /models/toy}}
service: {{supervisor: process, user: {user}}}
kernels:
  toggles: {{TOY_MMA: 1}}
  patches: [{patches}]
"""


def wheel(folder: Path, version: str = "0.5.23", sources: Mapping[str, str] = SOURCES, name: str = "sglang") -> Path:
    """A wheel with a RECORD and a console script."""
    info = f"{name}-{version}.dist-info"
    files = {
        **sources,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: toys\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name} = sglang.launch_server:main\n",
    }
    rows = [f"{path},sha256={_record(text)},{len(text.encode())}" for path, text in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,\n"])
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), text)
    target = folder / f"{name}-{version}-py3-none-any.whl"
    target.write_bytes(data.getvalue())
    return target


def venv(folder: Path, *wheels: Path, python: str = sys.executable) -> Path:
    """A virtual environment without pip, into which `wheels` are unpacked as pip would."""
    subprocess.run([python, "-m", "venv", "--without-pip", str(folder)], check=True)
    for one in wheels:
        with zipfile.ZipFile(one) as archive:
            archive.extractall(site(folder))
    return folder


def site(folder: Path) -> Path:
    """The site-packages of a virtual environment."""
    return next((folder / "lib").glob("python*")) / "site-packages"


def overlay(
    project: Path, name: str = "mma", text: str = PATCHED, *, fits: str = 'versions: "==0.5.23"', more: str = ""
) -> Path:
    """A patch folder that lays one file over the toy."""
    folder = project / "patches" / name
    (folder / "files").mkdir(parents=True)
    (folder / "files/attention.py").write_text(text)
    (folder / "patch.yaml").write_text(
        f"""\
name: {name}
summary: decode in another way
kind: overlay
fits: {{package: sglang, {fits}}}
files:
  - path: attention.py
toggle: {{name: TOY_MMA}}
proof: {{module: sglang.attention, symbol: decode, log: "decode: patched"}}
{more}"""
    )
    return folder


def diff(project: Path, name: str = "diffed", text: str = DIFF, more: str = "") -> Path:
    """A patch folder with one unified diff."""
    folder = project / "patches" / name
    folder.mkdir(parents=True)
    (folder / "change.diff").write_text(text)
    (folder / "patch.yaml").write_text(
        f"name: {name}\nsummary: a diff\nkind: diff\nfits: {{package: sglang, versions: '>=0.5'}}\n"
        f"diffs: [{{file: change.diff}}]\ntoggle: {{name: TOY_MMA}}\n{more}"
    )
    return folder


def tuning(
    project: Path, name: str = "tables", path: str = "configs/e8.json", text: str = '{"1": {"block": 64}}\n'
) -> Path:
    """A patch folder that puts one table where the toy looks for it."""
    folder = project / "patches" / name
    (folder / "files" / path).parent.mkdir(parents=True)
    (folder / "files" / path).write_text(text)
    (folder / "patch.yaml").write_text(
        f"name: {name}\nsummary: tables\nkind: tuning\nfits: {{package: sglang, versions: '>=0.5'}}\nfiles: [{{path: {path}}}]\n"
    )
    return folder


def built(project: Path, fits: str, version: str, sources: Mapping[str, str], name: str = "sglang") -> None:
    """A patch folder `built` that brings a wheel."""
    folder = project / "patches/built"
    folder.mkdir(parents=True)
    made = wheel(folder, version, sources, name)
    digest = hashlib.sha256(made.read_bytes()).hexdigest()
    (folder / "patch.yaml").write_text(
        f"name: built\nsummary: a build\nkind: wheel\nfits: {{package: {name}, {fits}}}\n"
        f"wheel: {{file: {made.name}, sha256: {digest}}}\ntoggle: {{name: TOY_MMA}}\n"
    )


def profile(project: Path, engine: Path, *patches: str, more: str = "") -> Path:
    """A profile of the toy in `engine` with these patches."""
    path = project / "profile.yaml"
    path.write_text(PROFILE.format(venv=engine, patches=", ".join(patches), user=getpass.getuser()) + more)
    return path


def bundle(project: Path, engine: Path, *patches: str, more: str = "", folder: str = "bundle") -> tuple[Path, Bundle]:
    """The rendered bundle of such a profile, in a folder."""
    return project / folder, render(profile(project, engine, *patches, more=more), project / folder)


def render(profile: Path, folder: Path) -> Bundle:
    """The bundle of a profile, written into a folder."""
    made = rendered(profile)
    bundles.write(made, folder)
    return made


def serve(bundle: Path) -> subprocess.CompletedProcess[str]:
    """What the rendered serve.sh prints when it is started by hand."""
    return subprocess.run([str(bundle / "serve.sh")], capture_output=True, text=True, check=False)


def fingerprint(folder: Path) -> dict[str, tuple[int, str]]:
    """Mode and content of everything below a folder."""
    found = {}
    for here, folders, names in os.walk(folder):
        for name in [*folders, *names]:
            path = Path(here, name)
            content = str(path.readlink()).encode() if path.is_symlink() else b""
            content = path.read_bytes() if path.is_file() and not content else content
            found[str(path.relative_to(folder))] = (path.lstat().st_mode, hashlib.sha256(content).hexdigest())
    return found


KILLED = """
import sys
sys.path[:0] = {path!r}
import json, os, signal
from pathlib import Path
from dsv4deploy.node import kernels
left = int(sys.argv[2])
def count(event, arguments):
    global left
    writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax")
    if writes or event in ("os.link", "os.mkdir", "os.rename", "os.symlink", "os.remove", "os.rmdir", "shutil.rmtree"):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
bundle = Path(sys.argv[1])
manifest = json.loads((bundle / "manifest.json").read_bytes())
sys.addaudithook(count)
kernels.{verb}(bundle, manifest)
"""


def killed(bundle: Path, verb: str, moment: int) -> int:
    """Install or revert, killed just before the change of that number; the exit code."""
    code = KILLED.format(path=[str(Path(bundles.__file__).parents[2])], verb=verb)
    return subprocess.run([sys.executable, "-c", code, str(bundle), str(moment)], check=False).returncode


AS_ANOTHER = """
import json, pathlib, sys
sys.path.insert(0, sys.argv[1])
from dsv4deploy.node import kernels
bundle = pathlib.Path(sys.argv[2])
print(json.dumps(kernels.install(bundle, json.loads((bundle / "manifest.json").read_bytes()))))
"""


def installed_by(user: str, bundle: Path) -> subprocess.CompletedProcess[str]:
    """What the node tool says when another user installs the patches of a bundle of their own."""
    subprocess.run(["chown", "-R", user, bundle], check=True)
    tool = bundle.parent / "node.pyz"
    tool.write_bytes(build())
    words: list[str | Path] = ["/usr/bin/python3", "-c", AS_ANOTHER, tool, bundle]
    return subprocess.run(words, capture_output=True, text=True, check=False, user=user, cwd="/")


def refused(bundle: Path, *words: str) -> None:
    """See that an install is refused with these words, and that nothing is left of it."""
    before = fingerprint(bundle)
    with pytest.raises(Trouble) as told:
        kernels.act("install", bundle)
    for word in words:
        assert word in told.value.message
    assert fingerprint(bundle) == before


def _record(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
