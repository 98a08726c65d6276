"""An experiment as a person reads it: what it plans, what came out, and what that means."""

from collections.abc import Iterable, Mapping, Sequence

from dsv4deploy.model.diagnostic import Diagnostic
from dsv4deploy.model.experiment import Experiment, Judgement, Trial


def opening(
    experiment: Experiment, told: Iterable[str], objections: Iterable[Diagnostic], differ: Mapping[str, str]
) -> str:
    """The question, where it is asked, what is wrong with it, and the arms with what each changes."""
    lines = [f"{experiment.name}: {experiment.question}", *told]
    for one in objections:
        lines += [f"{one.level}[{one.rule}]: {one.message}", *([f"  --> {one.place}"] if one.place else [])]
        lines += [f"  = effect: {one.effect}", f"  = remedy: {one.remedy}"]
    width = max(map(len, experiment.arms))
    for name, arm in experiment.arms.items():
        against = f"against {arm.control}: {differ[name]}" if arm.control else "control"
        lines.append(f"  {name:{width}}  {against}")
    return "\n".join(lines) + "\n"


def trial(one: Trial, *, again: bool = False) -> str:
    """One trial in a line, and its decisive line below."""
    when = f"done before, {one.record}" if again else one.record
    root = f"\n      {one.root[:160]}" if one.root and one.outcome != "ready" else ""
    return f"{one.arm}: {one.outcome} after {one.seconds:g} s in {one.stage or 'start'} ({when}){root}\n"


def closing(judgement: Judgement, kept: Sequence[str]) -> str:
    """The verdict, its evidence, and what was written down."""
    lines = [f"verdict: {judgement.kind}: {judgement.verdict}"]
    decision = judgement.decision
    if decision is not None:
        if decision.supports:
            lines.append(f"  = supports: {decision.supports}")
        if decision.matters:
            lines.append(f"  = matters: {' with '.join(decision.matters)}")
        if decision.remedy:
            lines.append(f"  = remedy: {decision.remedy}")
    lines += [
        f"  = evidence: {one.arm} {one.outcome} on {one.node}, {one.at} ({one.record})" for one in judgement.trials
    ]
    if judgement.next:
        lines.append(f"  = next: {judgement.next}")
    return "\n".join([*lines, *kept]) + "\n"
