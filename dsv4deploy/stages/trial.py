"""What a launch that is over leaves behind: the trial, and beside it stack, configuration and last lines, all scrubbed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dsv4deploy.model.experiment import Trial
from dsv4deploy.node.scrub import scrubbed, secrets_of
from dsv4deploy.stages.marks import Candidate, condition_of, core_of, host_of

Answer = Mapping[str, Any]
_SAID = ("state", "class", "late", "digest", "rules")


@dataclass(frozen=True, slots=True)
class Start:
    """One start that is over: for which arm of which experiment, what it was, where, and when it ended."""

    experiment: str
    arm: str
    key: str
    node: str
    at: str


def trial_of(one: Candidate, start: Start, answer: Answer, outcome: str, seconds: float) -> Trial:
    """The trial that `start` was, as the judge's `answer` has it."""
    return Trial(
        start.experiment,
        start.arm,
        start.key,
        outcome,
        start.node,
        start.at,
        seconds,
        stage=str(answer.get("stage") or ""),
        root=scrubbed(str(answer.get("root") or ""), _secrets(one)),
        rehearsal=one.rehearsal,
    )


def surroundings(one: Candidate, answer: Answer) -> dict[str, Any]:
    """What stands beside a trial in its record: `stack`, `condition`, the last `lines` of the log, and the judge's words.

    Those are what a mark of it needs, also when the trial is read again.
    """
    known = _secrets(one)
    return {
        "stack": {
            "core": core_of(one).model_dump(mode="json", exclude_defaults=True),
            "host": host_of(one.facts).model_dump(mode="json", exclude_defaults=True),
        },
        "condition": condition_of(one).model_dump(mode="json", exclude_defaults=True),
        "answer": {key: answer[key] for key in _SAID if answer.get(key)},
        "lines": [scrubbed(str(line), known) for line in answer.get("lines") or ()],
    }


def _secrets(one: Candidate) -> list[str]:
    words = [word for setting in one.launch.settings.values() for word in setting.words]
    return secrets_of(words, {variable.name: variable.value for variable in one.launch.environment.values()})
