"""What takes effect of what was written, for one engine version, node and model."""

from collections.abc import Mapping
from types import MappingProxyType

from dsv4deploy.model.effective import Effective
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.flag import Catalogue
from dsv4deploy.model.launch import Launch
from dsv4deploy.stages.effective import environment, graphs, kernels, memory, parallel, speculative
from dsv4deploy.stages.releases import NEWEST_NAME
from dsv4deploy.stages.situation import Resolver, Situation

RESOLVERS: Mapping[str, Resolver] = MappingProxyType(
    {
        key: resolver
        for area in (graphs, kernels, memory, parallel, speculative, environment)
        for key, resolver in area.RESOLVERS.items()
    }
)


def effective(launch: Launch, catalogue: Catalogue | None, facts: Facts) -> Effective:
    """The values the engine ends up with, for all that was written and all that it decides by itself."""
    situation = Situation(launch, facts, catalogue, resolvers=RESOLVERS)
    dests = {NEWEST_NAME.get(dest, dest) for dest in launch.settings}
    dests |= {key for key in RESOLVERS if not key.startswith("env:")}
    variables = [key for key in RESOLVERS if key.startswith("env:")]
    return Effective(
        MappingProxyType({dest: situation.outcome(dest) for dest in sorted(dests)}),
        MappingProxyType({key.removeprefix("env:"): situation.outcome(key) for key in sorted(variables)}),
    )
