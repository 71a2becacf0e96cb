"""What rules share that compare the model with another form of it, which runs by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hookcli.report.report import Report
from hookcli.rules.rule import Options, RuleFinding, passed, skipped
from hookcli.spec.checks import ProbeRequest, request_probe


@dataclass(frozen=True, slots=True)
class OtherRun:
    """A run of another form of the model, which is the measurement `probe`.

    `keys` are the options that name the form. `unrun` tells why a report does not have it.
    """

    probe: str
    keys: tuple[str, str]
    unrun: str
    advice: str

    def requests(self, options: Options) -> tuple[ProbeRequest, ...]:
        """Return the request for the run that a check needs."""
        names = (*self.keys, "tolerance")
        return (request_probe(self.probe, **{name: options[name] for name in names}),)

    def nothing(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the value of the measurement before the run."""
        return {
            **{key: options[key] for key in self.keys},
            "equal": None, "sentence": "", "named": [],
            "relative": None, "limit": None, "place": None, "error": None,
        }  # fmt: skip

    def judge(self, report: Report, options: Options) -> Iterator[RuleFinding]:
        """Yield one finding: the layer or tensor that differs first."""
        value = self._measured(report, options)
        if value is None:
            yield skipped(self.unrun)
        elif value["error"] is not None:
            yield RuleFinding("error", "", "not run", value["error"], place=value["place"])
        elif value["equal"]:
            yield passed(value["sentence"])
        else:
            named = value["named"]
            yield RuleFinding(
                "fail", named[0] if named else "", "differs", value["sentence"], value["relative"],
                value["limit"], value["place"], advice=self.advice,
            )  # fmt: skip

    def _measured(self, report: Report, options: Options) -> dict[str, Any] | None:
        for measurement in report.measurements:
            value = measurement.value
            if measurement.probe == self.probe and all(
                value[key] == options[key] for key in self.keys
            ):
                return dict(value)
        return None
