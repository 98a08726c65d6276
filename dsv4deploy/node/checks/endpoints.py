"""Whether the server says that it is ready, and serves the paths that it should."""

from __future__ import annotations

from dsv4deploy.node.checks.target import NOT_FOUND, OK, Answer, Finding, Target, unanswered

# `/health` itself generates a token and gives up after 20 s; a longer wait tells a busy server from a dead one.
_READY, _HEALTH = "/ready", "/health"
# A proxy or an older engine may not know `/ready`; 405 is what some answer instead of 404.
_UNKNOWN_PATH = (NOT_FOUND, 405)


def look(target: Target) -> dict[str, Answer]:
    """The answers by path: `/ready` where the version has it, else `/health`, then what the profile names."""
    first = target.ask(_READY)
    answers = {_READY: first}
    if first.status in _UNKNOWN_PATH:
        answers = {_HEALTH: target.ask(_HEALTH)}
    for path in target.health.get("endpoints", ["/v1/models"]):
        answers[path] = target.ask(path)
    return answers


def judge(answers: dict[str, Answer]) -> Finding:
    """Good if all answer 200; unknown if one did not answer in time."""
    findings = [_one(path, answer) for path, answer in answers.items()]
    for state in ("bad", "unknown"):
        found = [one for one in findings if one.state == state]
        if found:
            return Finding(state, found[0].told, tuple(one.told for one in findings))
    return Finding("good", f"{', '.join(answers)} answer {OK}", tuple(one.told for one in findings))


def check(target: Target) -> Finding:
    """Ask and judge."""
    return judge(look(target))


def _one(path: str, answer: Answer) -> Finding:
    if answer.status is None:
        return unanswered(answer, path)
    if answer.status != OK:
        meaning = " (it drains, loads, or its scheduler does not answer)" if answer.status == 503 else ""  # noqa: PLR2004 (HTTP's own number)
        return Finding("bad", f"{path} answered {answer.status}{meaning}")
    return Finding("good", f"{path} answered {OK} in {answer.seconds:.1f} s")
