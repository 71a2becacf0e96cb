"""A snapshot sees gradients: cuts with their operator and line, layers without one, shares."""

from __future__ import annotations

import dataclasses

import pytest

from hookcli.config.load import read_text
from hookcli.config.merge import Flags, spec_of
from hookcli.engine.attempt import Session
from hookcli.rules.judge import judge_report
from hookcli.snapshot.snapshot import PROBES, snapshot
from hookcli.snapshot.yaml_text import text
from hookcli.spec.request import Attempt
from tests.conftest import HEAD

NET = (
    HEAD
    + """
example_inputs = torch.linspace(-1, 1, 24).view(3, 8)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        y = self.fc(x)
        return torch.relu(x + y)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(8, 8)
        self.blocks = nn.ModuleList([Block() for _ in range(3)])
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)
"""
)
SUM = "torch.relu(x + y)"
PLACE = f"net2.py:{NET.splitlines().index(f'        return {SUM}') + 1}"


class Source:
    """A net in a file: its snapshot, and what the snapshot says of the net with other code."""

    def __init__(self, folder):
        self.folder, self.files = folder, 0

    def report(self, source, checks="{preset: none}", probes=()):
        self.files += 1  # Python keeps the modules that it has imported
        file = self.folder / f"net{self.files}.py"
        file.write_text(source)
        spec = spec_of("check", read_text(checks, "checks.yaml"), Flags(model=str(file)))
        spec = dataclasses.replace(spec, probes=(*spec.probes, *probes))
        return spec, Session(spec, Attempt("real"), lambda *_: None).run().report

    def snapshot(self, source=NET):
        _, report = self.report(source, probes=PROBES)
        return text(snapshot(report), ["head"], {})

    def failed(self, checks, *changes):
        source = NET
        for old, new in changes:
            assert source.count(old) == 1, old
            source = source.replace(old, new)
        spec, report = self.report(source, checks)
        rows = judge_report(report, spec.checks, spec.suppressions).checks
        found = [row for row in rows if row.status in {"fail", "error"}]
        return [row for row in found if row.severity != "note"]


@pytest.fixture
def net(tmp_path):
    return Source(tmp_path)


def test_it_contains_the_cuts_the_layers_and_the_shares(net):
    checks = net.snapshot()
    for line in (
        "  - {rule: grad_cuts}",
        "  - {rule: connected, at: '*'}",
        "  - {rule: grad_share, at: blocks.*, share: ",
    ):
        assert line in checks, checks
    assert net.failed(checks) == []


def test_a_detach_in_a_sum_is_told_with_its_line(net):
    rows = net.failed(net.snapshot(), (SUM, "torch.relu(x.detach() + y)"))
    cut = [row for row in rows if row.rule == "grad_cuts"]
    assert [row.target for row in cut] == ["blocks.0", "blocks.1", "blocks.2"]
    assert all(row.place.endswith(PLACE) for row in cut)
    assert cut[2].message.startswith("`detach` at ")
    assert cut[2].message.endswith(
        f"{PLACE} in 'blocks.2' (Block) ends the gradient's path: no gradient of 'stem', "
        "'blocks.0', 'blocks.1' flows through it"
    )
    assert all(row.severity == "error" for row in cut)
    assert {row.rule for row in rows} <= {"grad_cuts", "grad_share"}  # all still get a gradient


CHANGES = [
    ((SUM, f"{SUM}.detach()"), "connected", "blocks.2"),
    ((SUM, "torch.relu(x + y.data)"), "grad_cuts", "blocks.0"),
    ((SUM, "x * 1e-4 + y * 1e-4"), "grad_share", "stem.*"),
]


@pytest.mark.parametrize(("change", "rule", "target"), CHANGES)
def test_what_becomes_of_gradients_is_told(change, rule, target, net):
    rows = net.failed(net.snapshot(), change)
    assert (rule, target) in {(row.rule, row.target) for row in rows}


def test_cuts_of_today_are_kept_and_must_stay(net):
    stopped = NET.replace(SUM, "torch.relu(x.detach() + y)")
    checks = net.snapshot(stopped)
    assert "  - {rule: grad_cuts, allow: ['blocks.[0-2]:detach'], exact: true}" in checks
    assert net.failed(checks, (SUM, "torch.relu(x.detach() + y)")) == []
    (row,) = (row for row in net.failed(checks) if row.rule == "grad_cuts")
    assert (
        row.message == "`detach` in 'blocks.[0-2]' no longer cuts the gradient, which now flows on"
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_another_seed_is_no_change(seed, net):
    assert net.failed(f"{net.snapshot()}\nrun: {{seed: {seed}}}") == []


def test_a_snapshot_of_before_is_judged_as_before(net):
    old = [line for line in net.snapshot().splitlines() if "grad_cuts" not in line]
    old = [line for line in old if "connected" not in line and "grad_share" not in line]
    assert net.failed("\n".join(old)) == []
    assert net.failed("\n".join(old), (SUM, "torch.relu(x.detach() + y)")) == []
