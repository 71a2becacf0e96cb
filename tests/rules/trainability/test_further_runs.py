"""Rules that run the model again: they measure what plain PyTorch does, and restore the model."""

from __future__ import annotations

import json
import random

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import hookcli
from tests.rules.trainability.models import Do, assert_same, only, state_of

X = torch.randn(6, 8, generator=torch.Generator().manual_seed(1))
Y = torch.randint(0, 3, (6,), generator=torch.Generator().manual_seed(2))


def loss_of(output):
    return F.cross_entropy(output, Y)


def net(middle=None):
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Linear(8, 16), nn.BatchNorm1d(16), middle or nn.ReLU(), nn.Linear(16, 3)
    )


def checked(model, rule, *, inputs=X, loss=loss_of, optimizer=None, **options):
    config = {"checks": [{"rule": rule, **options}], "preset": "none"}
    if optimizer is not None:
        config["run"] = {"optimizer": optimizer}
    return hookcli.check(model, config, inputs=inputs, rules=[rule], loss=loss)


def losses_by_hand(model, optimizer, steps):
    """Train in train mode, and return the loss before each step and after the last."""
    torch.manual_seed(0)
    model.train()
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model(X))
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
    return [*losses, loss_of(model(X)).item()]


@pytest.mark.parametrize(
    ("optimizer", "by_hand"),
    [
        (None, lambda p: torch.optim.Adam(p, lr=0.001)),
        ({"name": "SGD", "lr": 0.001, "momentum": 0.9},
         lambda p: torch.optim.SGD(p, lr=0.001, momentum=0.9)),
        ({"name": "RMSprop"}, lambda p: torch.optim.RMSprop(p, lr=0.001)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("middle", [None, nn.Dropout(0.5)])
def test_the_losses_are_those_of_a_loop_by_hand(optimizer, by_hand, middle):
    report = checked(
        net(middle), "overfits_one_batch", optimizer=optimizer, steps=4, drop=0.99, lr=0.001
    )
    (value,) = (one.value for one in report.measurements if one.probe == "overfit")
    model = net(middle)
    assert value["losses"] == pytest.approx(losses_by_hand(model, by_hand(model.parameters()), 4))


def test_a_model_that_learns_passes_and_stops_when_it_did():
    report = checked(net(), "overfits_one_batch")
    (value,) = (one.value for one in report.measurements if one.probe == "overfit")
    assert only(report).status == "pass"
    assert value["losses"][-1] <= 0.5 * value["losses"][0] < value["losses"][-2]


class Detached(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 3), nn.Parameter(torch.zeros(3))

    def forward(self, x):
        return self.a(x).detach() + 0 * self.b


@pytest.mark.parametrize(
    ("model", "loss", "options", "status", "said"),
    [
        (Detached(), loss_of, {}, "fail", "it never falls"),
        (net(), lambda y: F.mse_loss(y, y.detach().flip(0)) + 50, {}, "fail", "is lowest, 50"),
        (net(), loss_of, {"drop": 0.01}, "pass", "steps of Adam (lr 0.0003)"),
        (
            net(),
            lambda y: (1 / (y.mean() - y.mean().detach())).abs(),
            {},
            "fail",
            "the loss is inf",
        ),
        (net(), lambda y: y.mean() - 5, {}, "skip", "a share of it is not defined"),
        (net(), "probe", {}, "skip", "the run has no loss of your model: pass `--loss`"),
    ],
)
def test_what_does_not_learn_fails(model, loss, options, status, said):
    row = only(checked(model, "overfits_one_batch", loss=loss, **options))
    assert (row.status, said in row.message) == (status, True), row.message


@pytest.mark.parametrize("rule", ["overfits_one_batch", "update_ratio", "causal", "eval_stateless"])
@pytest.mark.parametrize("scripted", [False, True])
def test_the_model_is_restored_bit_by_bit(rule, scripted):
    model = torch.jit.script(net()) if scripted else net()
    before = state_of(model)
    report = checked(model, rule, optimizer={"name": "Adam", "lr": 0.1})
    assert only(report).status != "error"
    assert_same(before, state_of(model))
    assert all(parameter.grad is None for parameter in model.parameters())


def test_probes_after_a_training_see_the_state_before_it():
    config = {
        "checks": [{"rule": "overfits_one_batch"}, {"rule": "deterministic"}],
        "preset": "none",
    }
    rules = ["overfits_one_batch", "deterministic", "batch_independent"]
    report = hookcli.check(net(), config, inputs=X, rules=rules, loss=loss_of)
    alone = hookcli.check(net(), inputs=X, rules=rules[1:], loss=loss_of)
    values = lambda one: {m.probe: m.value for m in one.measurements if m.probe in PROBES}  # noqa: E731
    assert values(report) == values(alone)


PROBES = {"repeat_eval", "samples"}


def test_the_ratios_are_those_of_a_step_by_hand():
    report = checked(net(), "update_ratio", optimizer={"name": "Adam", "lr": 0.01}, max=0.1)
    model = net().train()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loss_of(model(X)).backward()
    optimizer.step()
    true = {
        name: ((p - before[name]).norm() / before[name].norm()).item()
        for name, p in model.named_parameters()
        if before[name].norm() > 0
    }
    rows = {m.target: m.value for m in report.measurements if m.probe == "update" and m.target}
    ours = {n: v["change"] / v["weight"] for n, v in rows.items() if v["weight"]}
    assert ours == pytest.approx(true, rel=1e-4)
    worst = max(true, key=true.get)
    many = sum(ratio > 0.1 for ratio in true.values())
    row = only(report)
    assert (row.status, row.target, f"; {many - 1} other" in row.message) == (
        "fail" if many else "pass", worst, many > 1,
    )  # fmt: skip


def test_a_learning_rate_of_zero_is_named():
    row = only(checked(net(), "update_ratio", optimizer={"name": "SGD", "lr": 0.0}))
    assert row.message == "the learning rate of SGD is 0: a step changes no parameter"
    assert only(checked(net(), "update_ratio")).status == "skip"


def conv(left, right):
    return lambda x: F.conv1d(F.pad(x.transpose(1, 2), (left, right)), KERNEL).transpose(1, 2)


def attention(mask):
    return lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=mask)


KERNEL = torch.randn(4, 4, 3, generator=torch.Generator().manual_seed(4)).double()
TIMES = torch.randn(2, 7, 4, generator=torch.Generator().manual_seed(5))


@pytest.mark.parametrize(
    ("module", "causal"),
    [
        (Do(conv(2, 0)), True),
        (Do(conv(1, 1)), False),
        (Do(lambda x: x.cumsum(1)), True),
        (Do(lambda x: x.flip(1).cumsum(1).flip(1)), False),
        (Do(lambda x: x - x.mean(1, keepdim=True)), False),
        (Do(attention(True)), True),
        (Do(attention(False)), False),
        (nn.LSTM(4, 3, batch_first=True), True),
        (nn.LSTM(4, 3, batch_first=True, bidirectional=True), False),
        (nn.BatchNorm1d(7), True),  # in eval mode
        (Do(lambda x: x + 1e-9 * x[:, -1:]), False),
        (Do(lambda x: torch.cat([x[:, 1:], x[:, :1]], 1)), False),
    ],
)
def test_what_later_inputs_change_is_not_causal(module, causal):
    row = only(checked(module.double(), "causal", inputs=TIMES.double(), loss="probe"))
    assert row.status == ("pass" if causal else "fail"), row.message


class Tokens(nn.Module):
    """Integers, which have no gradient, with a mask; a cache has its times in dimension 2."""

    def __init__(self, causal):
        super().__init__()
        self.embed, self.causal = nn.Embedding(11, 8), causal

    def forward(self, ids, mask):
        assert set(ids.unique().tolist()) <= set(range(11))
        assert mask.all()
        x = self.embed(ids)
        y = F.scaled_dot_product_attention(x, x, x, is_causal=self.causal)
        return {"logits": y, "cache": x.view(2, -1, 2, 4).transpose(1, 2), "loss": y.mean()}


@pytest.mark.parametrize("causal", [True, False])
def test_tokens_stay_known_ones_and_masks_are_kept(causal):
    ids = torch.randint(0, 11, (2, 5), generator=torch.Generator().manual_seed(6))
    inputs = {"ids": ids, "mask": torch.ones(2, 5, dtype=torch.int64)}
    report = checked(Tokens(causal), "causal", inputs=inputs, loss="probe")
    (value,) = (one.value for one in report.measurements if one.probe == "causality")
    assert only(report).status == ("pass" if causal else "fail")
    assert (value["inputs"], value["outputs"]) == ([".ids"], [".logits", ".cache"])
    assert value["output"] == ".logits"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"input": ".nothing"}, "no input has the path '.nothing': choose from [0]"),
        ({"output": ".nothing"}, "no output has the path '.nothing': choose from ''"),
        ({"dim": 5}, "no input has two times along dimension 5"),
    ],
)
def test_a_path_that_does_not_exist_is_named(options, said):
    row = only(checked(Do(lambda x: x), "causal", inputs=TIMES, loss="probe", **options))
    assert (row.status, row.message) == ("skip", said)


class Writes(nn.Module):
    def __init__(self, where):
        super().__init__()
        self.a, self.where = nn.Linear(8, 3), where
        self.register_buffer("steps", torch.zeros(()))
        self.embed = nn.Embedding(4, 8)

    def forward(self, x):
        if self.where == "buffer":
            self.steps += 1
        if self.where == "replaced":
            self.steps = self.steps + 1
        if self.where == "train" and self.training:
            self.steps += 1
        if self.where == "parameter":
            with torch.no_grad():  # as max_norm does, which may change nothing a second time
                self.embed.weight *= 0.5
            x = x + self.embed(torch.tensor([1]))
        return self.a(x)


@pytest.mark.parametrize(
    ("where", "target"),
    [("buffer", "steps"), ("replaced", "steps"), ("train", None), ("parameter", "embed.weight")],
)
def test_a_forward_in_eval_mode_that_writes_is_found(where, target):
    model = Writes(where)
    before = state_of(model)
    row = only(checked(model, "eval_stateless"))
    assert (row.status, row.target) == (("fail", target) if target else ("pass", ""))
    assert_same(before, state_of(model))


class Drops(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.a, self.how, self.drop = nn.Linear(8, 3), how, nn.Dropout(0.25)
        self.heads = nn.MultiheadAttention(8, 2, dropout=0.1, batch_first=True)

    def train(self, mode=True):
        super().train(mode)
        if self.how == "kept":
            self.drop.train()
        return self

    def forward(self, x):
        on = self.training
        q = x.view(1, 1, 6, 8)
        if self.how == "always":
            x = F.dropout(x, 0.5)
        elif self.how == "attention":
            x = F.scaled_dot_product_attention(q, q, q, None, 0.1)[0, 0]
        elif self.how == "low":
            x = torch.dropout(x, 0.5, True)
        elif self.how == "fine":
            x = F.dropout(x, 0.5, training=on) + F.dropout2d(q, 0.0)[0, 0]
            x = x + F.scaled_dot_product_attention(q, q, q, dropout_p=0.1 * on)[0, 0]
            x = x + self.heads(q[0], q[0], q[0])[0][0]
        return self.a(self.drop(x))


@pytest.mark.parametrize(
    ("how", "target", "said"),
    [
        ("always", "", "dropout with p=0.5"),
        ("low", "", "dropout with p=0.5"),
        ("attention", "", "scaled_dot_product_attention with p=0.1"),
        ("kept", "drop", "dropout with p=0.25"),
        ("fine", None, ""),
    ],
)
def test_dropout_that_is_active_in_eval_mode_is_found_at_its_line(how, target, said):
    row = only(checked(Drops(how), "dropout_in_eval"))
    assert row.status == ("pass" if target is None else "fail"), row.message
    if target is not None:
        assert (row.target, said in row.message) == (target, True), row.message
        assert row.place.startswith("tests/rules/trainability/test_further_runs.py:")


def reparameterize(net, x):
    return torch.randn_like(x)


class Draws(nn.Module):
    def __init__(self, draw):
        super().__init__()
        self.a, self.draw = nn.Linear(8, 3), draw

    def forward(self, x):
        return self.a(x + self.draw(self, x))


@pytest.mark.parametrize(
    ("draw", "function"),
    [
        (lambda net, x: torch.randn_like(x), "randn_like"),
        (lambda net, x: torch.empty(8).uniform_(), "uniform_"),
        (lambda net, x: torch.bernoulli(torch.full((8,), 0.5)), "bernoulli"),
        (lambda net, x: random.random(), "random"),
        (lambda net, x: torch.randn(8) if net.training else 0.0, None),
        (lambda net, x: torch.rand(8) * 0, None),  # they change nothing
        (lambda net, x: torch.randn(8, generator=torch.Generator().manual_seed(0)), None),
        (lambda net, x: F.dropout(x, 0.5), None),  # dropout_in_eval tells it
        (reparameterize, None),  # it is meant
    ],
)
def test_random_numbers_in_eval_mode_are_found_at_their_line(draw, function):
    row = only(checked(Draws(draw), "random_in_eval"))
    assert row.status == ("pass" if function is None else "fail"), row.message
    if function is not None:
        assert row.severity == "note"
        assert f"`{function}` in " in row.message
        assert function == "random" or row.place.startswith(
            "tests/rules/trainability/test_further_runs.py:"
        )


def test_the_options_of_a_probe_are_part_of_its_name():
    """Two checks of one rule with different options have measurements of their own."""
    checks = [
        {"rule": "overfits_one_batch", "drop": drop, "steps": 2, "lr": 1e-3} for drop in (0.01, 0.9)
    ]
    report = hookcli.check(net(), checks, inputs=X, rules=["overfits_one_batch"], loss=loss_of)
    assert [row.status for row in report.checks] == ["pass", "fail"]
    values = [m.value["options"] for m in report.measurements if m.probe == "overfit"]
    assert json.loads(json.dumps(values)) == [
        {"steps": 2, "drop": drop, "lr": 1e-3} for drop in (0.01, 0.9)
    ]


def test_a_saved_report_gives_the_same_findings():
    """What the probes measured can be written, read strictly, and judged again."""
    from hookcli.report.encode import to_json
    from hookcli.report.schema import from_json
    from hookcli.rules.catalogue import CATALOGUE
    from hookcli.rules.judge import judge_report
    from hookcli.spec.checks import CheckSpec

    names = [
        "initial_loss", "overfits_one_batch", "update_ratio", "gradient_clipping", "double_softmax",
        "batch_norm_single", "eval_stateless", "dropout_in_eval", "causal", "tied_weights",
    ]  # fmt: skip
    assert set(names) <= CATALOGUE.keys()
    config = {"run": {"optimizer": {"name": "AdamW", "lr": 0.1}}, "checks": names}
    config["checks"] = [{"rule": name} for name in names]
    model = nn.Sequential(Drops("always"), nn.Softmax(1))
    report = hookcli.check(model, config, inputs=X, rules=names, loss=loss_of)
    read = from_json(to_json(report))
    again = judge_report(read, [CheckSpec(name) for name in names])
    assert [(r.rule, r.status, r.message) for r in again.checks] == [
        (r.rule, r.status, r.message) for r in report.checks
    ]
    found = {row.rule for row in again.checks if row.status == "fail"}
    assert {"double_softmax", "dropout_in_eval"} <= found


@pytest.mark.parametrize(
    ("probe", "target", "value"),
    [
        ("overfit", "", {"losses": ["many"]}),
        ("causality", "", {"relative": 0.1}),
        ("eval_forward", "", {"buffers": "all"}),
        ("loss_terms", "", {"loss": None}),
        ("loss_inputs", "act", {"loss": 3}),
        ("update", "a.weight", {"weight": None}),
        ("update", "", 3),
        ("shared_memory", "a.weight", {"with": 3}),
        ("clipping", "", {"hook": "0"}),
    ],
)
def test_a_saved_measurement_that_no_probe_makes_is_refused(probe, target, value):
    from pydantic import ValidationError

    from hookcli.report.reading.validity import check_measured

    with pytest.raises(ValidationError):
        check_measured(probe, target, value)
