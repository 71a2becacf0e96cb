"""Reports of a check made by hand: one row of each kind, and a runner that reads commands."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hookcli.report.findings import CheckRow, PassedOver
from hookcli.report.report import ErrorInfo
from tests.formats.fabricate import LAYERS, report


def row(rule="finite", target="", status="fail", severity="error", message="said", **more):
    known = {"value": None, "limit": None, "place": None, "fingerprint": "f" * 16, **more}
    return CheckRow(rule, target, status, severity, message=message, **known)


ROWS = (
    row("grad_exists", "spare", severity="warning", message="weight, bias never got one",
        value=2, limit=0, place="sub/net.py:9", fingerprint="1" * 16),
    row("finite", "fc", value=4, limit=0,
        message="the output of fc (Linear) contains 4 NaN in 4 elements",
        place="/repo/sub/net.py:12", fingerprint="2" * 16),
    row("output_shape", "head", "error", message="no module that ran matches 'head'",
        place="/repo/c.yaml:3: checks[0]", fingerprint="3" * 16),
    row("uncalled_modules", "spare", "skip", "warning",
        "suppressed, for {v2}: Linear never ran", fingerprint="4" * 16, place="sub/net.py:9",
        passed_over=PassedOver("suppression", "for {v2}", "/repo/c.yaml:7: suppress[0]")),
    row("uncalled_modules", "old", "skip", "warning",
        "known from the baseline: Linear never ran", fingerprint="5" * 16,
        passed_over=PassedOver("baseline")),
    row("deterministic", "", "pass", "error", "two runs agree", fingerprint="6" * 16),
    row("batch_independent", "", "skip", "warning", "the batch dimension is not known"),
    row("unused_suppression", "gone.*", severity="warning", message="take it out",
        place="c.yaml:9: suppress[1]", fingerprint="7" * 16),
)  # fmt: skip
CHECK = report("check", layers=LAYERS, checks=ROWS)
RAISED = ErrorInfo("forward", "fc", 0, (), "ValueError", "no\nway", "/repo/sub/net.py:13")
BROKEN = report("check", checks=(row(status="skip", message="the run failed"),), error=RAISED)


@dataclass
class Runner:
    """What GitHub's runner makes of a step's output.

    Written after actions/runner, ActionCommand.TryParseV2 and TryParse, and ExecutionContext: a
    command begins a line, or "##[" stands anywhere; ten annotations of a kind are kept.
    """

    annotations: list[tuple[str, dict[str, str], str]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    token: str | None = None
    groups: int = 0

    def read(self, output):
        for line in re.split("\r\n|\r|\n", output):
            self.line(line)
        return self

    def line(self, line):
        found = re.match(r"\s*::([^\s:]+)(?: (.*?))?::(.*)", line)
        if found is None:
            if re.search(r"##\[\w+", line):
                self.others.append(line)
            self.text.append(line)
            return
        name, properties, data = found[1].lower(), found[2] or "", found[3]
        if self.token is not None:
            if name == self.token:
                self.token = None
            else:
                self.text.append(line)
        elif name == "stop-commands":
            self.token = data
        elif name in {"error", "warning", "notice"}:
            pairs = (one.split("=", 1) for one in properties.split(",") if "=" in one)
            given = {key: unescape(value) for key, value in pairs}
            self.annotations.append((name, given, unescape(data)))
        elif name in {"group", "endgroup"}:
            self.groups += 1 if name == "group" else -1
        else:
            self.others.append(line)

    @property
    def kept(self):
        """The annotations that are shown."""
        return [
            one
            for i, one in enumerate(self.annotations)
            if sum(other[0] == one[0] for other in self.annotations[:i]) < 10
        ]


def unescape(text):
    for code, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, char)
    return text
