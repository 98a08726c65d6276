"""How long launch scripts with facts take in one process: all of a folder, or 200 made from the examples.

Usage: python benchmarks/cases.py [FOLDER]. A case is NAME.sh with NAME.facts.yaml beside it. Bar: 3 s of CPU for 200.
"""

import gc
import sys
import tempfile
import time
from pathlib import Path

from dsv4deploy.__main__ import SELDOM
from dsv4deploy.cli import house
from dsv4deploy.flow import looked_at_script
from dsv4deploy.model.diagnostic import Refused
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.rim.texts import Files

ROOT = Path(__file__).parents[1]
COUNT = 200
FACTS = """\
engine_version: {version}
arch: {arch}
gpu_count: 8
gpu_memory_mib: 97887
model: {{model_type: deepseek_v4, quant_method: fp8}}
"""


def main() -> None:
    """Read and check every case, and say what was left without an answer."""
    gc.set_threshold(SELDOM)  # as the command line does
    with tempfile.TemporaryDirectory() as made:
        folder = Path(sys.argv[1]) if sys.argv[1:] else made_cases(Path(made))
        cases = sorted(folder.glob("*.sh"))
        begin = time.process_time()
        known, files, left = house.knowledge(), Files(), 0
        for script in cases:
            facts = script.with_suffix(".facts.yaml")
            try:
                looked_at_script(files, known, house.asked(script, (), (), facts if facts.exists() else None, ()))
            except (Trouble, Refused):
                left += 1
        spent = time.process_time() - begin
    print(f"{len(cases)} cases in {spent:.2f} s of CPU, {1000 * spent / len(cases):.1f} ms each; {left} not judged")


def made_cases(folder: Path) -> Path:
    """The serve scripts of the examples, each under other versions, archs and ports."""
    scripts = [rendered(path) for path in sorted(ROOT.glob("examples/*/profile.yaml"))]
    versions = known_versions()
    for number in range(COUNT):
        text = scripts[number % len(scripts)].replace("30000", str(20_000 + number))
        version, arch = versions[number % len(versions)], ("sm_120", "sm_90", "sm_100")[number % 3]
        (folder / f"{number:03}.sh").write_text(text)
        (folder / f"{number:03}.facts.yaml").write_text(FACTS.format(version=version, arch=arch))
    return folder


def rendered(profile: Path) -> str:
    """The serve script of one example."""
    looked = house.looked_at(Files(), house.knowledge(profile), house.asked(profile, (), (), None, ()))
    return house.artifact(house.bundle(looked), "serve.sh").text.decode()


def known_versions() -> tuple[str, ...]:
    """Every known release."""
    return house.knowledge().catalogues.history.versions


if __name__ == "__main__":
    main()
