"""Say from a server's log why it failed, and which profile field to change.

    dsv4deploy triage server.log
    journalctl -u sglang -o cat | dsv4deploy triage -
    dsv4deploy triage --journal sglang.service --format json

The decisive line is the first one that names what was illegal, missing or refused, not the last error.
A log that no signature explains is answered with "not recognised". What journald, docker, Kubernetes and others put
before a line or around it does not matter, nor does gzip, bzip2 or xz.
"""

from enum import StrEnum
from typing import Annotated

import typer

GROUP = "Diagnose"


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


def command(
    log: Annotated[str | None, typer.Argument(metavar="LOG", help="Log file; - is standard input.")] = None,
    journal: Annotated[str | None, typer.Option("--journal", metavar="UNIT", help="Read this unit's journal.")] = None,
    output: Annotated[Format, typer.Option("--format", help="How to answer.")] = Format.TEXT,
) -> int:
    import json

    from dsv4deploy.model.trouble import Exit, Trouble
    from dsv4deploy.node.signatures import Catalogue
    from dsv4deploy.node.triage import triage_file, triage_journal
    from dsv4deploy.signatures import catalogue, compiled

    if (log is None) == (journal is None):
        raise Trouble("give a LOG or --journal UNIT", "dsv4deploy triage server.log", Exit.USAGE)
    signatures = Catalogue(compiled(catalogue()))
    try:
        told = triage_journal(journal, signatures) if journal else triage_file(str(log), signatures)
    except FileNotFoundError:
        raise Trouble(f"there is no file {log}", "name a log, or - for standard input") from None
    except (OSError, EOFError) as error:
        why = getattr(error, "strerror", None) or error
        raise Trouble(f"cannot read {journal or log}: {why}", "check what it is, and who may read it") from error
    if not told["root"] and not told["stages"]:
        empty = f"the journal of {journal}" if journal else log
        raise Trouble(f"{empty} is empty", "give the log of the start that is to be judged")
    if output is Format.JSON:
        print(json.dumps(told, ensure_ascii=False))
    else:
        from dsv4deploy.views.triage import screen

        print(screen(told, journal or str(log)))
    crashed = told["then"] is not None and told["then"]["state"] == "crashed"
    return Exit.FOUND if told["class"] or crashed or told["state"] == "failed" else Exit.FINE
