"""Turns what is wrong with environment variables into diagnostics."""

from collections.abc import Iterable
from dataclasses import replace

from dsv4deploy.model.diagnostic import Diagnostic, Level
from dsv4deploy.model.environment import (
    MalformedVariable,
    OtherVersionVariable,
    RetiredVariable,
    UnknownVariable,
    VariableError,
)
from dsv4deploy.model.flag import Catalogue
from dsv4deploy.model.history import History
from dsv4deploy.model.launch import Provided, Variable
from dsv4deploy.source.environment import check_env

TOGGLES = "kernels.toggles."
TOGGLE_NOT_READ = "toggle-not-read"
UNKNOWN_VARIABLE = "unknown-variable"
NOT_READ = "nobody reads it, so that it has no effect, and nothing says so"


def variable_diagnostics(
    variables: Iterable[Variable],
    catalogue: Catalogue,
    history: History,
    provided: Iterable[Provided] = (),
    *,
    stock: bool = False,
) -> tuple[Diagnostic, ...]:
    """One diagnostic for each variable that is not read, or not as it is meant.

    A variable that a patch or a build provides is read by that, whatever the release knows. A kernel toggle that
    nothing reads is an error: whoever writes one believes that another kernel runs. Where the profile says that the
    engine is `stock`, every variable of the engine's own kind is such a toggle, wherever it is written.
    """
    own = {each.env for each in provided if each.env}
    found = []
    for variable in variables:
        error = None if variable.name in own else check_env(variable.name, variable.value, catalogue, history)
        toggle = (variable.path or "").startswith(TOGGLES) and variable.name not in own
        if toggle and error is None and variable.name not in catalogue.variables:
            error = UnknownVariable(variable.name, ())
        if error is not None:
            told = _diagnostic(error, variable, catalogue, history)
            unread = toggle and isinstance(error, UnknownVariable | OtherVersionVariable)
            unread |= stock and _is_a_switch(error, variable)
            found.append(_unread(told, variable) if unread else told)
    return tuple(found)


def _is_a_switch(error: VariableError, variable: Variable) -> bool:
    """Whether a variable outside the toggles can only be one: of the engine's own kind, and no slip of the pen."""
    own_kind = (variable.path or "").startswith("env.") and variable.name.startswith("SGLANG_")
    return own_kind and isinstance(error, UnknownVariable) and not error.nearest


def _unread(told: Diagnostic, variable: Variable) -> Diagnostic:
    return replace(
        told,
        rule=TOGGLE_NOT_READ,
        level=Level.ERROR,
        message=f"{variable.name} is set, but nothing reads it: {told.message}",
        effect="the stock kernel runs, and nothing says so",
        remedy=f"{told.remedy}; or, if a patch reads it, list that in kernels.patches, with it as its `toggle`",
    )


def _diagnostic(error: VariableError, variable: Variable, catalogue: Catalogue, history: History) -> Diagnostic:
    match error:
        case UnknownVariable():
            return _unknown(error, variable, catalogue, history)
        case OtherVersionVariable():
            return _other_version(error, variable, catalogue, history)
        case MalformedVariable():
            return _malformed(error, variable)
        case RetiredVariable():
            return _retired(error, variable)


def _unknown(error: UnknownVariable, variable: Variable, catalogue: Catalogue, history: History) -> Diagnostic:
    foreign = history.overlay.foreign.get(error.name)
    # A name that resembles none is a fork's own as often as it is a mistake.
    level = Level.ERROR if error.nearest and not foreign else Level.NOTE
    remedy = f"did you mean {' or '.join(error.nearest[:2])}?" if error.nearest else ""
    of = f" (it is of {foreign.engine})" if foreign else ""
    return Diagnostic(
        UNKNOWN_VARIABLE,
        level,
        f"{error.name} is no variable of SGLang {catalogue.version} or of a library below it{of}",
        (error.name,),
        variable.place,
        "read by nobody",
        effect=NOT_READ,
        evidence=(f"enforced: variables read in SGLang {catalogue.version}, and the documentation of the libraries",),
        remedy=remedy or "remove it, or say in `provides` what reads it",
    )


def _other_version(
    error: OtherVersionVariable, variable: Variable, catalogue: Catalogue, history: History
) -> Diagnostic:
    life = error.life
    since, until = life.after(catalogue.version), life.before(catalogue.version)
    rule = "removed-variable" if until else "variable-not-yet"
    what = f"no longer reads {error.name}: the last version that does is {until}"
    if not until:
        what = f"does not read {error.name} yet: the first version that does is {since}"
    instead = history.counterparts(life, catalogue)
    return Diagnostic(
        rule,
        Level.NOTE if until else Level.WARNING,
        f"SGLang {catalogue.version} {what}",
        (error.name,),
        variable.place,
        f"since {life.since}" + (f", until {life.until}" if life.until else ""),
        effect=NOT_READ,
        evidence=(f"enforced: variables read in SGLang {catalogue.version}",),
        remedy=f"write {' or '.join(instead)}" if instead else f"remove it, or use SGLang {until or since}",
    )


def _malformed(error: MalformedVariable, variable: Variable) -> Diagnostic:
    own = error.variable.owner == "SGLang"
    source = (
        "the engine's own registry" if own and error.variable.registered else f"documentation of {error.variable.owner}"
    )
    return Diagnostic(
        "malformed-variable",
        Level.ERROR if own else Level.WARNING,
        f"{variable.name} cannot be {error.value!r}",
        (variable.name,),
        variable.place,
        f"needs {error.wanted}",
        effect=error.effect,
        evidence=(f"{'enforced' if own else 'confirmed'}: {source}",),
        remedy=f"give it {error.wanted}",
    )


def _retired(error: RetiredVariable, variable: Variable) -> Diagnostic:
    current = error.variable
    new = current.replaced_by or (current.name if current.name != error.name else "")
    return Diagnostic(
        "deprecated-variable",
        Level.NOTE,
        f"{error.name} is deprecated",
        (error.name,),
        variable.place,
        "deprecated",
        effect=current.note or f"{current.owner} warns about it",
        evidence=(
            f"{'enforced: the engine says so when it starts' if current.owner == 'SGLang' else 'confirmed: documentation of ' + current.owner}",
        ),
        remedy=f"write {new}" if new else "remove it",
    )
