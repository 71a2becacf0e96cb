"""Counts the forwards and backwards of a check, by probe, and the rules that they are for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass

from hookcli.catalogue.probes import PROBES, Way
from hookcli.report.findings import PASSES, Measurement
from hookcli.rules.catalogue import CATALOGUE
from hookcli.spec.checks import CheckSpec
from hookcli.spec.request import Mode

RUN = "run"  # the run that is reported


@dataclass(frozen=True, slots=True)
class PassCounts:
    """The number of forwards and backwards that were started in one mode."""

    mode: Mode = "eval"
    forwards: int = 0
    backwards: int = 0

    def and_then(self, more: PassCounts) -> PassCounts:
        """Return the sum of both, with the mode of the later."""
        return PassCounts(more.mode, self.forwards + more.forwards, self.backwards + more.backwards)


def passes_of(ran: Mapping[str, PassCounts], checks: Iterable[CheckSpec]) -> Iterator[Measurement]:
    """Yield a measurement for the run itself, and for each probe that ran the model."""
    rules = rules_of(checks)
    for probe, passes in ran.items():
        if passes.forwards:
            value = {**asdict(passes), "rules": rules.get(probe, [])}
            yield Measurement(PASSES, probe, None, value, None)


def rules_of(checks: Iterable[CheckSpec]) -> dict[str, list[str]]:
    """Return the rules that use each probe's result, in the order of the checks."""
    rules: dict[str, dict[str, None]] = {}
    for check in checks:
        if check.only_failures:  # it judges what the others required
            continue
        rule = CATALOGUE[check.rule]
        needed = {request.name for request in rule.needs(rule.filled(check.options))}
        own = {name for name in needed if PROBES[name].way is Way.RERUNS}
        for probe in sorted(own):
            rules.setdefault(probe, {})[rule.name] = None
        if not own or needed - own:
            rules.setdefault(RUN, {})[rule.name] = None
    return {probe: list(names) for probe, names in rules.items()}
