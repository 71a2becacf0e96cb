"""The rules that a configuration states: what breaks them, and what does not."""

from __future__ import annotations

import pytest

from hookcli.report.encode import to_json
from tests.rules.judging import HERE, failed, judge, rows

NET = """
import torch
from torch import nn
example_inputs = torch.linspace(-1, 1, 16).view(2, 8)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Linear(8, 6)
        self.norm = nn.LayerNorm(6)
        self.fc = nn.Linear(6, 10)
        self.register_buffer("index", torch.arange(10))
        self.spare = nn.Linear(2, 2).requires_grad_(False)
        self.body()
    def body(self):
        pass
    def forward(self, x):
        return {"logits": self.fc(self.norm(self.conv(x))), "index": self.index}
"""


@pytest.fixture
def net(tmp_path):
    """Judge Net, or a Net with other code in the place of some, by one check."""

    def judged(check, *changes):
        text = NET
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "net.py").write_text(text)
        report = judge(f"{tmp_path / 'net.py'}:Net", f"checks: [{check}]")
        rule = check.partition("rule: ")[2].partition(",")[0].rstrip("}")
        return rows(report, rule)

    return judged


KEPT = [
    "{rule: output_shape, at: fc, shape: [2, 10]}",
    "{rule: output_shape, at: fc, shape: [B, '*']}",
    "{rule: output_shape, at: '*o?[mv]*', shape: [B, F]}",
    "{rule: output_shape, path: .logits, shape: [2, 10]}",
    "{rule: input_shape, shape: [B, 8]}",
    "{rule: input_shape, at: fc, shape: ['*', 6]}",
    "{rule: input_shape, at: norm, path: '[0]', shape: [2, 6]}",
    "{rule: dtype, dtype: float32}",
    "{rule: dtype, dtype: int64, at: ''}",
    "{rule: dtype, dtype: float32, part: parameter, at: '*.weight'}",
    "{rule: budget, parameters: 142, calls: 4}",
    "{rule: budget, flops: 1000}",
    "{rule: budget, parameter_bytes: 1e3, buffer_bytes: 80, activation_bytes: 1e4}",
    "{rule: firing_order, order: [conv, norm, fc]}",
    "{rule: firing_order, order: [conv, fc]}",
    "{rule: firing_order, order: [conv, norm, fc], match: exact}",
    "{rule: firing_order, order: ['', conv], match: prefix}",
    "{rule: frozen, at: 'spare.*'}",
    "{rule: trainable, at: [conv.*, fc.*]}",
    "{rule: hook_misuse}",
]


@pytest.mark.parametrize("check", KEPT)
def test_what_is_stated_holds(check, net):
    (row,) = net(check)
    assert row.status == "pass", row.message


BROKEN = [
    ("{rule: output_shape, at: fc, shape: [2, 9]}", "dimension 1 is 10, expected 9"),
    ("{rule: output_shape, at: fc, shape: [B, B]}", "dimension 1 is 10, expected B = 2"),
    ("{rule: output_shape, at: fc, shape: [2, 10, 1]}", "got 2 dimensions, expected 3"),
    ("{rule: output_shape, at: spare, shape: [2, 10]}", "Linear never ran"),
    ("{rule: output_shape, path: .probs, shape: [2]}", "has no output.probs"),
    ("{rule: input_shape, at: fc, shape: [2, 8]}", "dimension 1 is 6, expected 8"),
    ("{rule: input_shape, shape: [3, '*']}", "dimension 0 is 2, expected 3"),
    ("{rule: input_shape, at: norm, shape: [12]}", "got 2 dimensions, expected 1"),
    ("{rule: dtype, dtype: bfloat16, at: fc}", "output of fc (Linear) is float32"),
    ("{rule: dtype, dtype: float64, part: input, at: norm}", "input[0] of norm"),
    ("{rule: dtype, dtype: float16, part: parameter, at: fc.bias}", "fc.bias is float32"),
    ("{rule: budget, parameters: 141}", "142 parameters exceed the limit of 141 by 0.7%"),
    ("{rule: budget, parameters: 10}", "142 parameters are 14.2 times the limit of 10"),
    ("{rule: budget, flops: 100}", "FLOPs in a forward exceed the limit of 100"),
    ("{rule: budget, calls: 3}", "4 calls of modules exceed the limit of 3"),
    ("{rule: firing_order, order: [norm, conv]}", "conv is before norm, expected after it"),
    ("{rule: firing_order, order: [conv, head]}", "head is missing after conv"),
    ("{rule: firing_order, order: [conv, norm], match: exact}", "names are followed by fc"),
    ("{rule: firing_order, order: [norm], match: prefix}", "position 0 is conv, expected norm"),
    ("{rule: frozen, at: fc.bias}", "fc.bias changed in a step"),
    ("{rule: trainable, at: spare.weight}", "is frozen: requires_grad is False"),
]


@pytest.mark.parametrize(("check", "said"), BROKEN)
def test_what_is_stated_and_does_not_hold_is_told(check, said, net):
    (row,) = net(check)
    assert row.status == "fail"
    assert row.severity == "error"
    assert said in row.message


@pytest.mark.parametrize(
    ("rule", "changed", "said"),
    [
        ("frozen, at: spare.weight", ("self.body()", "self.spare.requires_grad_(True)"), None),
        ("frozen, at: conv.weight", ("self.body()", "self.conv.requires_grad_(False)"), None),
        ("frozen, at: conv.weight",
         ("return {", "self.conv.weight.data.mul_(2)\n        return {"), "changed in a step"),
        ("frozen, at: emb.weight",
         ("self.body()", "self.emb = nn.Embedding(4, 2, max_norm=0.1).requires_grad_(False)"),
         None),
        ("trainable, at: conv.weight", ("self.conv(x)", "self.conv(x).detach()"),
         "got no gradient"),
        ("trainable, at: conv.weight", ("self.conv(x)", "self.conv(x) * 0"),
         "exactly zero"),
        ("frozen, at: spare.weight", ("self.body()", "self.spare.weight = self.fc.weight"),
         "changed in a step"),
        ("trainable, at: norm.weight", ("self.conv(x)", "self.conv(x) * 2"), None),
        ("trainable, at: conv.weight", ("self.conv(x)", "self.conv(x) * 1e-2"), None),
        ("trainable, at: fc.bias", ("self.body()", "nn.init.zeros_(self.fc.bias)"), None),
        ("trainable, at: norm.bias", ("self.body()", "self.norm.bias = self.conv.bias"), None),
    ],
)  # fmt: skip
def test_what_learns_and_what_does_not(rule, changed, said, net):
    (row,) = net(f"{{rule: {rule}}}", changed)
    assert row.status == ("pass" if said is None else "fail"), row.message
    assert said is None or said in row.message


@pytest.mark.parametrize(
    "check",
    [
        "{rule: output_shape, at: fcc, shape: [2]}",
        "{rule: dtype, dtype: complex64}",
        "{rule: frozen, at: nothing.*}",
        "{rule: budget}",
    ],
)
def test_a_check_that_judges_nothing_is_an_error_with_its_line(check, net):
    (row,) = net(check)
    assert row.status == "error"
    assert row.place == "checks.yaml:1: checks[0]"


@pytest.fixture
def saved(tmp_path):
    """Judge a changed Net against the report of the Net that was."""
    from hookcli.engine.attempt import Session
    from hookcli.rules.judge import judge_report
    from hookcli.spec.checks import CheckSpec
    from hookcli.spec.request import Attempt
    from tests.rules.judging import spec_for

    def run(name, text):
        (tmp_path / name).write_text(text)
        spec = spec_for(f"{tmp_path / name}:Net")
        return Session(spec, Attempt("real"), lambda *_: None).run().report

    def compared(*changes, **options):
        text = NET
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        then = run("then.py", NET)
        check = CheckSpec("same_as", {"report": "then.json", "saved": then, **options})
        found = judge_report(run("now.py", text), (check,))
        return [(row.status, row.target, row.message) for row in found.checks]

    return compared


@pytest.mark.parametrize(
    ("changes", "target", "said"),
    [
        ([("nn.Linear(6, 10)", "nn.Linear(6, 9)")], "fc.weight",
         "is [9, 6] float32, was [10, 6]"),
        ([("self.norm(self.conv(x))", "self.conv(self.norm(x[:, :6]) @ torch.ones(6, 8))")], "norm",
         "norm (LayerNorm) runs instead of conv (Linear)"),
        ([("self.body()", "nn.init.ones_(self.fc.weight)")], "fc.weight",
         "the norm of the weight of fc.weight is "),
        ([("self.body()", "self.more = nn.Parameter(torch.ones(2))")], "more", "more is new"),
    ],
)  # fmt: skip
def test_what_is_another_than_before_is_told(changes, target, said, saved):
    found = [one for one in saved(*changes) if one[1] == target]
    assert found, saved(*changes)
    assert found[0][0] == "fail"
    assert said in found[0][2]


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ([], {}),
        (
            [("    def body(self):\n        pass\n", "    def body(self):\n        self.x = 1\n")],
            {},
        ),
        ([("self.body()", "self.fc.weight.data.mul_(1.00001)")], {}),
        ([("self.body()", "nn.init.ones_(self.spare.weight)")], {"at": "conv*"}),
    ],
)
def test_what_is_as_before_passes(changes, options, saved):
    ((status, _, said),) = saved(*changes, **options)
    assert status == "pass", said


def test_hooks_that_never_fire_or_are_misused_are_findings(tmp_path):
    (tmp_path / "h.py").write_text(
        "def edit(module, args, output):\n    output['logits'].mul_(2)\n"
    )
    (tmp_path / "net.py").write_text(NET)
    yaml = (
        "hooks: [{kind: forward, at: spare, do: record}, "
        f"{{kind: forward, at: '', do: {{call: '{tmp_path / 'h.py'}:edit'}}}}]"
    )
    report = judge(f"{tmp_path / 'net.py'}:Net", yaml)
    assert ("hooks_fired", "spare") in failed(report)
    assert ("hook_misuse", "") in failed(report)


def test_a_saved_report_is_judged_as_the_run_was():
    from hookcli.report.schema import from_json
    from hookcli.rules.catalogue import with_safe_set
    from hookcli.rules.judge import judge_report

    for name in ("ZeroByZero", "Centred", "Clock", "Base"):
        report = judge(f"{HERE / 'models.py'}:{name}")
        again = judge_report(from_json(to_json(report)), with_safe_set(()))
        assert to_json(again) == to_json(report)
