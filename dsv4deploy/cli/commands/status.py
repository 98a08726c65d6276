"""Show what runs on each node: release, process, health, drift; wrong answers make the exit code 1.

Example: dsv4deploy status -i gpu.ini
"""

from dsv4deploy.cli.fleet_options import Name, Nodes, on_nodes
from dsv4deploy.cli.options import Format, OutputFormat

GROUP = "Observe"
ORDER = 1


@on_nodes
def command(
    *,
    options: Nodes,
    name: Name = None,
    output_format: OutputFormat = Format.TEXT,
) -> int:
    import sys
    from pathlib import Path

    from dsv4deploy.cli import house, serving
    from dsv4deploy.model.trouble import Exit
    from dsv4deploy.node.scrub import scrubbed_tree
    from dsv4deploy.views import serving as view

    seen = serving.seen(options)
    found, lost = serving.deployments(seen, name), serving.unreachable(seen)
    if output_format is Format.JSON:
        states = [{"node": node, "state": view.state(has), **has.model_dump(mode="json")} for node, _, has in found]
        named = [{"name": one, **state} for (_, one, _), state in zip(found, states, strict=True)]
        told = scrubbed_tree({"deployments": named, "unreachable": lost}, serving.secrets(found))
        sys.stdout.write(serving.machine("status/1", told))
    else:
        told = view.status(found, [mark for _, mark in house.marks_of(Path())]) if found or not lost else ""
        sys.stdout.write(told + "".join(f"{line}\n" for line in lost))
    if lost:
        return Exit.APPLY_FAILED
    return Exit.FINE if all(view.state(has) == "ready" for _, _, has in found) else Exit.FOUND
