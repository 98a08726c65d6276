"""Asks every rule about one launch: clear, found, or unknown and what would decide it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from dsv4deploy.model.diagnostic import Diagnostic, Level, Related, Report, Unknown, Waived
from dsv4deploy.model.effective import Effective
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.flag import Catalogue
from dsv4deploy.model.launch import Json, Launch, Provided, Setting
from dsv4deploy.model.nearest import nearest
from dsv4deploy.model.place import Place
from dsv4deploy.model.rule import Ask, Condition, Found, Missing, Rule, Scope, known
from dsv4deploy.stages.effective import effective as settle
from dsv4deploy.stages.levels import MILDER, level
from dsv4deploy.stages.releases import FLAGS, SPELLINGS, version, within
from dsv4deploy.stages.situation import Situation
from dsv4deploy.stages.traits import named_type

MOST_NAMES: Final = 4


class Waiver(NamedTuple):
    """A rule that the profile allows: which, why, and until when (`2026-12-31`, the last day on which it counts)."""

    rule: str
    reason: str
    until: str | None = None
    place: Place | None = None


def check(
    launch: Launch,
    effective: Effective,
    facts: Facts,
    rules: Sequence[Rule],
    *,
    catalogue: Catalogue | None = None,
    profile: Mapping[str, Json] | None = None,
    waivers: Sequence[Waiver] = (),
    today: str = "",
    beside: Sequence[Diagnostic] = (),
) -> Report:
    """Everything the rules say about `launch`, with what the profile waives set apart.

    Args:
        launch: what is to be started.
        effective: what takes effect of it.
        facts: what is known of node, engine and model.
        rules: the catalogue and the team's own.
        catalogue: the arguments of this engine version.
        profile: the profile's own keys by path.
        waivers: what the profile allows.
        today: the date on which waivers are judged, `2026-12-31`.
        beside: what was found by other means and may be waived too; a rule that found the same has said it.
    """
    situation = Situation(launch, facts, catalogue, effective=effective, profile=profile)
    guess = _by_name(situation)
    found: list[Diagnostic] = []
    unknown: list[Unknown] = []
    provided: list[Waived] = []
    living = [rule for rule in rules if rule.stability != "retired"]
    here = _Here.of(situation.ask)
    for rule in living:
        if here.outside(rule.scope):
            continue
        try:
            what = finds(rule, situation)
        except Missing as missing:
            guessed = _guessed(rule, guess) if guess else None
            if guessed:
                found.append(guessed)
            else:
                unknown.append(Unknown(rule.id, missing.needs))
        else:
            if what is None:
                continue
            told = _of_a_patched_build(rule, _diagnostic(rule, what, situation), situation)
            if given := _provided(rule, situation):
                provided.append(Waived(told, f"{given.by or 'the build'} provides it: {given.because}"))
            else:
                found.append(told)
    said = {one.rule for one in found}
    found += [one for one in beside if one.rule not in said]
    judged = _waive(found, tuple(unknown), waivers, today, living)
    report = replace(judged, looked_at=len(living))
    return replace(report, waived=(*report.waived, *provided))


class _Here(NamedTuple):
    """What scopes ask, where it is known; a release that is no version (`main`) lies in no range and outside of none."""

    arch: str | None
    family: str | None
    release: str | None

    @classmethod
    def of(cls, ask: Ask) -> "_Here":
        arch, family, release = (known(ask, one) for one in ("fact:arch", "trait:family", "fact:engine_version"))
        return cls(arch, family, release if release and version(str(release)) else None)

    def outside(self, scope: Scope) -> bool:
        """Whether the first conditions of a rule, those of its scope, do not hold: half of all rules fall here."""
        return bool(
            (self.arch and scope.arch and self.arch not in scope.arch)
            or (self.family and scope.family and self.family not in scope.family)
            or (self.release and scope.engine and not within(self.release, scope.engine))
        )


def _of_a_patched_build(rule: Rule, found: Diagnostic, situation: Situation) -> Diagnostic:
    """A finding about the stock engine on a build that is known to be patched: a step milder, and said."""
    if not rule.stock or not known(situation.ask, "fact:engine_patched"):
        return found
    doubt = "this is known of the stock engine; the build is patched, and does not say that it provides this"
    return replace(found, level=MILDER[found.level], evidence=(*found.evidence, doubt))


def _by_name(situation: Situation) -> Situation | None:
    """The same situation with the model's family taken from its name, if nothing better is known."""
    model = situation.facts.model
    if model.model_type or model.architectures or not (kind := named_type(situation.ask)):
        return None
    facts = situation.facts.model_copy(update={"model": model.model_copy(update={"model_type": kind})})
    settled = settle(situation.launch, situation.catalogue, facts)
    return Situation(situation.launch, facts, situation.catalogue, effective=settled, profile=situation.profile)


def _guessed(rule: Rule, guess: Situation) -> Diagnostic | None:
    """What a rule finds on the strength of the model's name: a step milder, and said."""
    try:
        what = finds(rule, guess)
    except Missing:
        return None
    if what is None or _provided(rule, guess):
        return None
    found = _diagnostic(rule, what, guess)
    doubt = f"the model is taken for {guess.ask('trait:family')} by its name alone"
    return replace(found, level=MILDER[found.level], evidence=(*found.evidence, doubt))


def strict(report: Report) -> Report:
    """The same report with every warning an error."""
    raised = (replace(d, level=Level.ERROR) if d.level is Level.WARNING else d for d in report.diagnostics)
    return replace(report, diagnostics=tuple(raised))


def finds(rule: Rule, situation: Situation) -> Found | None:
    """What the rule found; None if all is clear.

    Raises:
        Missing: facts that could still change the answer.
    """
    try:
        if not _all(rule.conditions, situation) or _void(rule.unless, situation):
            return None
    except Missing:
        # Nothing is unknown of a rule that is void; asked last, because most rules fall with their first condition.
        if _void(rule.unless, situation):
            return None
        raise
    found = rule.verdict(situation.ask) if rule.verdict else Found()
    return Found(found) if isinstance(found, str) else found


def _all(conditions: Iterable[Condition], situation: Situation) -> bool:
    """Whether all hold; a single no outweighs everything unknown."""
    needs: dict[str, None] = {}
    for condition in conditions:
        try:
            if not _holds(condition, situation):
                return False
        except Missing as missing:
            needs.update(dict.fromkeys(missing.needs))
    if needs:
        raise Missing(*needs)
    return True


def _void(conditions: Iterable[Condition], situation: Situation) -> bool:
    """Whether any is known to hold; what nobody knows voids nothing."""
    try:
        return _any(conditions, situation)
    except Missing:
        return False


def _any(conditions: Iterable[Condition], situation: Situation) -> bool:
    needs: dict[str, None] = {}
    for condition in conditions:
        try:
            if _holds(condition, situation):
                return True
        except Missing as missing:
            needs.update(dict.fromkeys(missing.needs))
    if needs:
        raise Missing(*needs)
    return False


def _holds(condition: Condition, situation: Situation) -> bool:
    if condition.not_:
        return not _holds(condition.not_, situation)
    if condition.any_:
        return _any(condition.any_, situation)
    value = situation.ask(condition.subject)
    if condition.set_ is not None:
        return condition.set_ == (value not in (None, False, "", ()))
    return not (value is None and condition.env) and _compares(condition, value)


def _compares(condition: Condition, value: Any) -> bool:  # noqa: ANN401 (an argument of the engine may hold anything)
    if condition.in_ is not None:
        return any(_same(value, one) for one in condition.in_)
    if condition.within is not None:
        return within(str(value), condition.within, condition.subject.partition(":")[2])
    if condition.above is not None:
        return _order(value, condition.above) > 0
    if condition.below is not None:
        return _order(value, condition.below) < 0
    return _same(value, condition.is_)


def _same(value: Any, wanted: Any) -> bool:  # noqa: ANN401 (an argument of the engine may hold anything)
    if isinstance(wanted, bool):
        return (
            bool(value) is wanted if value is None or isinstance(value, bool) else str(value).lower() in _SPELT[wanted]
        )
    if isinstance(value, tuple):
        return wanted in value
    return bool(value == wanted) or (isinstance(value, str) and value == str(wanted))


_SPELT: Final = {True: {"1", "true", "yes", "y"}, False: {"0", "false", "no", "n", ""}}


def _order(value: Any, limit: float | str) -> int:  # noqa: ANN401 (an argument of the engine may hold anything)
    """Less, equal or greater; text is compared as versions; a value that cannot be compared is never beyond."""
    if isinstance(limit, str):
        left, right = version(str(value)), version(limit)
        return 0 if left is None or right is None else (left > right) - (left < right)
    try:
        number = float(value)
    except (TypeError, ValueError):
        return 0
    return (number > limit) - (number < limit)


def _provided(rule: Rule, situation: Situation) -> Provided | None:
    """What makes a rule about stock behaviour void on this launch, if anything does."""
    if not rule.stock:
        return None
    asked = {*rule.subjects(), rule.at}
    for provided in situation.launch.provided:
        for kind, name in (("setting", provided.setting), ("env", provided.env)):
            if (
                name
                and {f"{kind}:{name}", f"written:{name}"} & asked
                and (provided.value is None or situation.ask(f"{kind}:{name}") == provided.value)
            ):
                return provided
    return None


def _diagnostic(rule: Rule, what: Found, situation: Situation) -> Diagnostic:
    subjects = what.subjects or _spoken(rule, (rule.at, *rule.related), situation)
    places = [(subject, place) for subject in subjects if (place := _place(subject, situation.launch))]
    first = places[0] if places else None
    return Diagnostic(
        rule=rule.id,
        level=level(rule),
        message=f"{rule.summary}: {what.words}" if what.words else rule.summary,
        names=_names(what.subjects or _spoken(rule, rule.names, situation) or subjects, situation),
        place=first[1] if first else None,
        label=_said(first[0], situation) if first else "",
        related=tuple(Related(place, _said(subject, situation)) for subject, place in places[1:]),
        effect=rule.why,
        evidence=tuple(str(source) for source in sorted(rule.evidence, key=lambda source: source.against)),
        remedy=rule.remedy,
    )


def _spoken(rule: Rule, subjects: Sequence[str], situation: Situation) -> tuple[str, ...]:
    """The subjects with the written alternatives first that made the rule hold, and without those that did not."""
    choices = [choice for condition in rule.conditions for choice in condition.any_ if choice.subject]
    held = [_written_name(choice.subject) for choice in choices if _is_why(choice, situation)]
    if not subjects or not held:
        return tuple(subjects)
    idle = {_written_name(choice.subject) for choice in choices} - set(held)
    return tuple(dict.fromkeys((*held, *(name for name in subjects if _written_name(name) not in idle))))


def _is_why(choice: Condition, situation: Situation) -> bool:
    if not _stands(choice.subject, situation.launch):
        return False
    try:
        return _holds(choice, situation)
    except Missing:
        return False


def _written_name(subject: str) -> str:
    return subject.replace("written:", "setting:", 1)


def _stands(subject: str, launch: Launch) -> bool:
    kind, _, name = subject.partition(":")
    return (
        name in launch.environment if kind == "env" else kind in {"setting", "written"} and bool(_setting(name, launch))
    )


def _names(subjects: Sequence[str], situation: Situation) -> tuple[str, ...]:
    names = (_name(subject, situation.launch, situation.catalogue) for subject in subjects)
    return tuple(dict.fromkeys(name for name in names if name))[:MOST_NAMES]


def _name(subject: str, launch: Launch, catalogue: Catalogue | None) -> str:
    """A subject as the engine writes it; what is not there is `missing:`."""
    kind, _, name = subject.partition(":")
    if kind in {"setting", "written"}:
        found = _setting(name, launch)
        return found.flag if found else f"missing:{flag_of(name, catalogue)}"
    if kind == "env":
        return name if name in launch.environment else f"missing:{name}"
    if kind in {"patch", "patched"}:
        return ", ".join(_laid(subject, launch)) or f"missing:{name}"
    return "" if kind == "trait" else subject


def flag_of(dest: str, catalogue: Catalogue | None = None) -> str:
    """The flag of a dest that nobody wrote, under the name it has in this version."""
    for name in SPELLINGS.get(dest, (dest,)) if catalogue else ():
        if catalogue and (flag := catalogue.by_dest(name)):
            return flag.name
    return FLAGS.get(dest, f"--{dest.replace('_', '-')}")


def _setting(dest: str, launch: Launch) -> Setting | None:
    return next((launch.settings[name] for name in SPELLINGS.get(dest, (dest,)) if name in launch.settings), None)


def _place(subject: str, launch: Launch) -> Place | None:
    kind, _, name = subject.partition(":")
    if kind in {"setting", "written"}:
        found = _setting(name, launch)
        return found.place if found else None
    if laid := _laid(subject, launch):
        return launch.patches[laid[0]].place
    variable = launch.environment.get(name) if kind == "env" else None
    return variable.place if variable else None


def _laid(subject: str, launch: Launch) -> tuple[str, ...]:
    """The patches that a subject is about."""
    kind, _, name = subject.partition(":")
    if kind == "patched":
        return launch.patching(name)
    return (name,) if kind == "patch" and name in launch.patches else ()


def _said(subject: str, situation: Situation) -> str:
    kind, _, name = subject.partition(":")
    if kind in {"patch", "patched"}:
        return f"changes {name}" if kind == "patched" else f"{name} is laid"
    if kind == "env":
        return f"{name} is {situation.launch.environment[name].value}"
    found, outcome = _setting(name, situation.launch), situation.outcome(name)
    written = outcome.written
    said = f"{found.flag if found else name} is {str(written).lower() if isinstance(written, bool) else written}"
    return said if outcome.needs or outcome.value == written else f"{said}, in effect {outcome.value}"


def _waive(
    found: Sequence[Diagnostic],
    unknown: tuple[Unknown, ...],
    waivers: Sequence[Waiver],
    today: str,
    living: Sequence[Rule],
) -> Report:
    counting = [waiver for waiver in waivers if not _ran_out(waiver, today)]
    allowed = {waiver.rule: waiver for waiver in counting}
    waived = tuple(Waived(d, allowed[d.rule].reason, allowed[d.rule].until) for d in found if d.rule in allowed)
    speaking = [d for d in found if d.rule not in allowed]
    idle = [w for w in counting if w.rule not in {d.rule for d in found} | {u.rule for u in unknown}]
    names = [*(d.rule for d in found), *(rule.id for rule in living)] if idle else []
    speaking += [_idle(waiver, names) for waiver in idle]
    gone = [waiver for waiver in waivers if _ran_out(waiver, today)]
    speaking += [_about_waiver(w, f"ran out on {w.until}", "take it out, or give a new date and reason") for w in gone]
    return Report(tuple(speaking), unknown, waived)


def _idle(waiver: Waiver, names: Sequence[str]) -> Diagnostic:
    """That a waiver allows nothing: its rule finds nothing, or nothing is called so."""
    meant = nearest(waiver.rule, names) if waiver.rule not in names else None
    if meant:
        return _about_waiver(waiver, "allows nothing: no rule is called so", f"did you mean {meant}?")
    return _about_waiver(waiver, "allows nothing: the rule finds nothing here", "take it out")


def _ran_out(waiver: Waiver, today: str) -> bool:
    return waiver.until is not None and today > waiver.until


def _about_waiver(waiver: Waiver, message: str, remedy: str) -> Diagnostic:
    return Diagnostic(
        rule="waiver",
        level=Level.WARNING,
        message=f"the waiver of {waiver.rule} {message}",
        names=("profile:waivers",),
        place=waiver.place,
        effect="A waiver that nobody needs hides the next real finding.",
        remedy=remedy,
    )
