"""`no_hooks`: which hooks are forbidden, by glob, and what a finding says."""

from __future__ import annotations

import dataclasses

import pytest

from hookcli.report.report import UncalledRow
from hookcli.rules.catalogue import SAFE
from hookcli.rules.judge import judge_report
from hookcli.spec.checks import CheckSpec
from tests.conftest import HEAD
from tests.formats.fabricate import LAYERS, parameter, report
from tests.formats.test_existing import hook
from tests.rules.judging import failed, judge, rows

NET = report(
    "check",
    layers=LAYERS,
    parameters=(parameter("fc.weight", (4, 3)),),
    existing_hooks=(
        hook("fc", function="train.log_norm"),
        hook("fc", "tensor", "train.clip", tensor="weight", place="train.py:9"),
        hook("head", "forward_pre", "torch.nn.utils.weight_norm.WeightNorm", tensor="weight",
             feature="weight_norm", place=None),
        hook("head", "parametrization", "train.Half", tensor="bias", feature="parametrize"),
        hook(None, "global_forward", "debug.show", type=None),
    ),
)  # fmt: skip


def targets(**options):
    report = judge_report(NET, (CheckSpec("no_hooks", options),))
    return [row.target for row in report.checks if row.status == "fail"]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({}, ["fc", "fc.weight", ""]),
        ({"at": ("fc",)}, ["fc", "fc.weight"]),
        ({"at": ("fc.weight",)}, ["fc.weight"]),
        ({"at": ("head",)}, []),
        ({"kinds": ("tensor", "global_*")}, ["fc.weight", ""]),
        ({"functions": ("log_norm",)}, ["fc"]),
        ({"functions": ("train.*",)}, ["fc", "fc.weight"]),
        ({"allow": ("train.*",)}, [""]),
        ({"allow": ("clip", "show")}, ["fc"]),
        ({"features": ("weight_norm",)}, ["fc", "fc.weight", "head.weight", ""]),
        ({"features": ("*",), "at": ("head",)}, ["head.weight", "head.bias"]),
    ],
)
def test_globs_select_what_is_forbidden(options, found):
    assert targets(**options) == found


def test_a_finding_names_the_function_the_hook_and_the_place():
    first, second, last = judge_report(NET, (CheckSpec("no_hooks"),)).checks
    assert first.message == "fc has the forward hook train.log_norm when it is loaded"
    assert first.place == "train.py:3"
    assert second.message == "fc.weight has the tensor hook train.clip when it is loaded"
    assert last.message == (
        "the global_forward hook debug.show is registered when the model is loaded"
    )
    messages = [
        row.message
        for row in judge_report(NET, (CheckSpec("no_hooks", {"at": ("head",), "features": ("*",)}),)
        ).checks
    ]  # fmt: skip
    assert messages == [
        "head.weight has the forward_pre hook torch.nn.utils.weight_norm.WeightNorm of weight_norm "
        "when it is loaded",
        "head.bias has the parametrization train.Half",
    ]


def test_hooks_on_one_module_have_fingerprints_of_their_own():
    prints = [row.fingerprint for row in judge_report(NET, (CheckSpec("no_hooks"),)).checks]
    assert len({*prints}) == 3


@pytest.mark.parametrize("at", ["head", "fc.weight", "spare", "deep.er", "deep", "very.deep", "fc"])
def test_a_glob_may_name_any_module_or_parameter(at):
    uncalled = UncalledRow("spare", "ReLU", None), UncalledRow("very.deep.one", "ReLU", None)
    hooks = hook("deep.er", function="debug.show"), hook(None, "global_forward", type=None)
    made = dataclasses.replace(NET, uncalled=uncalled, existing_hooks=hooks)
    check = CheckSpec("no_hooks", {"at": (at,), "allow": ("*",)})
    assert [row.status for row in judge_report(made, (check,)).checks] == ["pass"]


def test_a_glob_that_names_nothing_is_not_judged():
    [row] = judge_report(NET, (CheckSpec("no_hooks", {"at": ("fcc", "hed")}),)).checks
    assert (row.status, row.message) == ("error", "no module matches 'fcc', 'hed'")


def test_a_report_that_does_not_list_hooks_is_skipped():
    old = dataclasses.replace(NET, existing_hooks=None)
    [row] = judge_report(old, (CheckSpec("no_hooks"),)).checks
    assert row.status == "skip"


def test_it_is_judged_only_if_it_is_asked_for():
    assert "no_hooks" not in {check.rule for check in SAFE}


SOURCE = """
def spy(module, args, output):
    pass

class Net(nn.Module):
    example_inputs = (torch.ones(2, 3),)
    def __init__(self):
        super().__init__()
        self.fc = nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))
        self.head = nn.Linear(3, 1)
        {hook}
    def forward(self, x):
        return self.head(self.fc(x))
"""


def test_the_hooks_of_a_run_are_not_those_of_the_model(tmp_path):
    """The rule's own run attaches hooks: only those of the source count."""
    path = tmp_path / "net.py"
    yaml = (
        "{preset: none, checks: [{rule: no_hooks}], hooks: [{kind: forward, at: fc, do: record}]}"
    )
    path.write_text(HEAD + SOURCE.replace("{hook}", "pass"))
    clean = judge(path, yaml)
    assert failed(clean) == []
    assert rows(clean, "no_hooks")[0].message == "2 hooks, all allowed"
    path = tmp_path / "hooked.py"
    path.write_text(HEAD + SOURCE.replace("{hook}", "self.head.register_forward_hook(spy)"))
    [row] = [row for row in rows(judge(path, yaml), "no_hooks") if row.status == "fail"]
    assert row.target == "head"
    assert row.place.endswith("hooked.py:4")
