"""`grad_cuts`, `connected`, `grad_share`, `frozen_by_mistake`: against figures computed by hand."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

import hookcli
from tests.conftest import run_cli
from tests.rules.gradient_cuts import Chain, argmax, detach, line_of

X = torch.linspace(-2, 2, 20).view(5, 4)
PLACE = f"tests/rules/gradient_cuts.py:{line_of(detach)}"


def judged(model, rule, **options):
    report = hookcli.check(model, [{"rule": rule, **options}], inputs=X)
    return [(r.status, r.target, r.message) for r in report.checks if r.rule == rule]


def test_a_partial_cut_is_told_where_the_rule_is_named():
    (row,) = judged(Chain(3, 1, detach, around=True), "grad_cuts")
    assert row == (
        "fail", "layers.1",
        f"`detach` at {PLACE} in 'layers.1' (Layer) ends the gradient's path: no gradient of "
        "'layers.0', 'layers.1' flows through it",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        (detach, {"allow": ["layers.1:detach"]}, None),
        (detach, {"allow": ["*:detach"], "exact": True}, None),
        (detach, {"allow": ["layers.0:detach"]}, "`detach` at "),
        (detach, {"at": "head"}, None),
        (argmax, {"allow": ["*:detach"]}, "returns integers, which have no gradient"),
        (lambda x: x, {"allow": ["layers.1:detach"]}, None),
        (lambda x: x, {"allow": ["layers.1:detach"], "exact": True},
         "`detach` in 'layers.1' no longer cuts the gradient, which now flows on"),
    ],
)  # fmt: skip
def test_cuts_are_allowed_by_layer_and_operator(change, options, said):
    (row,) = judged(Chain(2, 1, change, around=True), "grad_cuts", **options)
    assert row[0] == ("pass" if said is None else "fail")
    assert said is None or said in row[2]


def test_a_layer_that_the_loss_is_not_connected_to_is_told():
    rows = judged(Chain(2, 0, detach), "connected", at=["layers.*.fc", "head"])
    assert rows == [("fail", "layers.0.fc",
                     "no gradient of the loss reaches the output of 'layers.0.fc'")]  # fmt: skip
    assert judged(Chain(2, 0, detach), "connected", at="head")[0][0] == "pass"
    assert judged(Chain(2, 0, detach), "connected", at="nothing")[0][0] == "error"


def norms_by_hand(model):
    """The 2-norm of each parameter's gradient of the sum of the output."""
    model = copy.deepcopy(model)
    model(X).sum().backward()
    return {name: p.grad.double().norm().item() for name, p in model.named_parameters()}


@pytest.mark.parametrize(("factor", "status"), [(1.0, "pass"), (4.0, "pass"), (6.0, "fail")])
def test_the_share_of_the_norm_is_that_of_plain_pytorch(factor, status):
    model = Chain(2, 0, torch.tanh)
    norms = norms_by_hand(model)
    part = sum(n**2 for name, n in norms.items() if name.startswith("layers.0.")) ** 0.5
    share = part / sum(n**2 for n in norms.values()) ** 0.5
    options = {"at": "layers.0.*", "share": share * factor, "within": 5.0}
    report = hookcli.check(model, [{"rule": "grad_share", **options}], inputs=X, loss="sum")
    (row,) = (row for row in report.checks if row.rule == "grad_share")
    assert row.status == status
    assert row.value == pytest.approx(share, rel=1e-6)
    assert status == "pass" or "6 times less" in row.message


def frozen_at(*positions, count=6):
    model = Chain(count, 0, lambda x: x)
    for i in positions:
        model.layers[i].requires_grad_(False)
    return model


@pytest.mark.parametrize(
    ("positions", "targets"),
    [
        ((), []),
        ((3,), ["layers.3"]),
        ((0,), []),  # the first layers
        ((0, 1, 2), []),
        ((5,), []),  # the last one
        ((1, 3, 4), []),  # half of them: on purpose
        ((0, 1, 2, 3, 4, 5), []),
    ],
)
def test_only_a_frozen_layer_between_trained_ones_is_odd(positions, targets):
    rows = judged(frozen_at(*positions), "frozen_by_mistake")
    assert [target for status, target, _ in rows if status == "fail"] == targets


def test_frozen_norms_are_on_purpose():
    blocks = [nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)) for _ in range(5)]
    for block in blocks:
        block[1].requires_grad_(False)
    assert judged(nn.Sequential(*blocks), "frozen_by_mistake")[0][0] == "pass"


def test_one_sentence_says_where_gradients_first_differ_from_those_of_a_report(tmp_path):
    def saved(model):
        (tmp_path / "then.json").write_text(hookcli.check(model, inputs=X).to_json())
        return {"rule": "same_as", "report": str(tmp_path / "then.json")}

    rule = saved(Chain(4, 2, lambda x: x * 1, around=True))
    report = hookcli.check(Chain(4, 2, detach, around=True), [rule], inputs=X)
    (row,) = (row for row in report.checks if row.rule == "same_as")
    assert row.target == "layers.2.fc.bias"  # y + y.detach() lets half of the gradient through
    assert (
        "gradients first differ at layers.2.fc (Linear): the norm of the gradient of "
        in row.message
    )
    end = f"`detach` at {PLACE} in 'layers.2' (Layer) ends the gradient's path"
    assert row.message.endswith(f"; 5 more of 10 gradients differ: {end}")
    assert row.value == pytest.approx(row.limit / 2)
    rule = saved(Chain(4, 0, lambda x: x))
    report = hookcli.check(Chain(4, 2, lambda x: x.detach()), [rule], inputs=X)
    (row,) = (row for row in report.checks if row.rule == "same_as")
    assert row.target == "layers.2.fc.bias"
    assert (
        "gradients first differ at layers.2.fc (Linear): layers.2.fc.bias gets no " in row.message
    )
    assert "; 5 more of 10 gradients differ: `detach` at " in row.message


class WithLoss(nn.Module):
    def __init__(self, *, is_frozen):
        super().__init__()
        self.a, self.b = nn.Linear(X.shape[-1], 4), nn.Linear(X.shape[-1], 4)
        self.requires_grad_(not is_frozen)
        self.key = "out"

    def forward(self, x):
        return {self.key: (self.a(x) - self.b(x)).pow(2).mean()}


@pytest.mark.parametrize(
    ("is_frozen", "key", "severity"),
    [(True, "out", "note"), (True, "loss", "warning"), (False, "loss", None)],
)
def test_a_model_that_is_frozen_as_a_whole_is_told(is_frozen, key, severity):
    model = WithLoss(is_frozen=is_frozen)
    model.key = key
    rows = [r for r in hookcli.check(model, inputs=X).diagnoses if r.cause == "all_frozen"]
    assert [row.severity for row in rows] == ([severity] if severity else [])
    model.eval()
    report = hookcli.check(model, inputs=X, mode="eval")
    assert not [row for row in report.diagnoses if row.cause == "all_frozen"]


class Forgets(nn.Module):
    """Its forward returns what it is told to."""

    def __init__(self, output):
        super().__init__()
        self.a, self.output = nn.Linear(X.shape[-1], 4), output

    def forward(self, x):
        return self.output(self.a(x))


@pytest.mark.parametrize(
    ("output", "finds"),
    [
        (lambda y: None, True),
        (lambda y: torch.distributions.Categorical(logits=y), False),
        (lambda y: y.detach(), False),
        (lambda y: y, False),
    ],
)
def test_a_forward_without_return_is_told(output, finds):
    rows = judged(Forgets(output), "grad_exists")
    message = "the forward of Forgets returned None: no loss can be computed of it"
    assert (("fail", "", message) in rows) is finds
    frozen = Forgets(output).requires_grad_(False)
    assert all(status != "fail" for status, *_ in judged(frozen, "grad_exists"))


def test_a_hook_that_makes_gradients_zero_is_not_taken_for_a_first_step(tmp_path):
    (tmp_path / "net.py").write_text(
        "from torch import nn\n"
        "net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 1))\n"
    )
    (tmp_path / "h.yaml").write_text(
        "model: net.py:net\ninputs: [2x3]\nhooks:\n- {kind: forward, at: '1', do: {scale: 0.0}}\n"
    )
    done = run_cli("grads", "-c", "h.yaml", "-f", "json", cwd=tmp_path)
    rows = [row for row in done.report["diagnoses"] if "zero gradients" in row["sentence"]]
    assert [row["severity"] for row in rows] == ["note"]
    assert "but not in a second run without the hooks of the configuration" in rows[0]["sentence"]
