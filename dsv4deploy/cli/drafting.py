"""Writes down what an experiment or a bisection has shown: marks of what failed, and a draft of the rule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsv4deploy.flow import Looked
from dsv4deploy.model.experiment import Trial
from dsv4deploy.model.rule import Rule
from dsv4deploy.rim import marks, trials
from dsv4deploy.stages.draft import draft_rule
from dsv4deploy.stages.marks import mark_of, worth_a_mark

_SUMMARY, _WHY = 200, 300


@dataclass(frozen=True, slots=True)
class Shown:
    """What was shown: by which experiment, that these paths matter together, in a sentence, and what to do.

    `held` are further paths, without which nothing was shown.
    """

    name: str
    paths: Sequence[str]
    says: str
    remedy: str
    saw: str
    held: Sequence[str] = ()


def marked(beside: Path, looked: Looked, answer: Mapping[str, Any], name: str, trial: Trial) -> list[str]:
    """Write the mark of a failed start of the deployment `name`, if it earned one; the line that tells it.

    Args:
        beside: folder of the profile.
        looked: what was started.
        answer: what the judge said of it.
        name: of the deployment.
        trial: the start.
    """
    if not worth_a_mark(answer):
        return []
    mark = mark_of(looked.candidate, answer, looked.report, name=name, node=trial.node, at=trial.at)
    path, _ = marks.keep(mark, beside)
    return [f"marked known-bad: {path}{' (a rehearsal: not for git)' if mark.core.rehearsal else ''}"]


def drafted(project: Path, looked: Looked, shown: Shown, failed: Trial) -> list[str]:
    """Write the draft rule that the trial `failed` of `looked` speaks for; the line that tells it."""
    told = {
        "summary": shown.says[:_SUMMARY],
        "why": f"The start ends with: {failed.root or failed.outcome}"[:_WHY],
        "remedy": shown.remedy or f"Change {shown.paths[0]}.",
        "ref": failed.record,
        "date": failed.at[:10],
        "hardware": "a rehearsal" if failed.rehearsal else _hardware(looked, failed.node),
        "saw": shown.saw,
    }
    rule = draft_rule(looked.candidate, shown.paths, told, shown.held)
    if rule is None:
        return [f"no draft rule: {' with '.join(shown.paths)} is no setting that a rule could name"]
    Rule.model_validate({**rule, "id": shown.name, "family": "own"})
    head = [f"A draft from {shown.name}; move it to rules/ when you agree."]
    head += ["It comes from a rehearsal, and says nothing about hardware."] if failed.rehearsal else []
    return [f"draft rule: {trials.draft(project, shown.name, rule, head)}"]


def _hardware(looked: Looked, node: str) -> str:
    known = looked.facts
    card = known.gpu_name or known.arch
    return f"{card}, {node}" if card else node
