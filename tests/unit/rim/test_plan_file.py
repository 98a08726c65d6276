"""A plan that was kept comes back as it was, with the bytes of its bundles."""

import json
from pathlib import Path

import bundles
import pytest

from dsv4deploy.model.plan import Action, Plan, Step, Wanted
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.rim import plan_file


def test_there_and_back(tmp_path: Path) -> None:
    manifest = bundles.bundle(tmp_path / "flash", port=1)
    digest = manifest["digest"]
    plan = Plan((Step("gpu01", "flash", Action.FIRST, release=digest),))
    plan_file.write(tmp_path / "kept.json", plan, [Wanted("gpu01", manifest)], {digest: tmp_path / "flash"})
    assert (tmp_path / "kept.json").stat().st_mode & 0o777 == 0o600
    (tmp_path / "back").mkdir()
    kept = plan_file.read(tmp_path / "kept.json", tmp_path / "back")
    assert kept.steps == (("gpu01", "flash", "first start", digest, None),)
    assert kept.wanted[0].manifest == manifest
    for file in (tmp_path / "flash").iterdir():
        copy = kept.folders[digest] / file.name
        assert (copy.read_bytes(), copy.stat().st_mode) == (file.read_bytes(), file.stat().st_mode)


@pytest.mark.parametrize("text", ["", "[]", json.dumps({"schema": "planned/1"}), json.dumps({"bundles": {}})])
def test_anything_else_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "kept.json").write_text(text)
    with pytest.raises(Trouble, match="no plan that plan -o wrote"):
        plan_file.read(tmp_path / "kept.json", tmp_path)
