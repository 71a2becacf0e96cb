"""Causes that a training shows: each in two scripts, next to healthy ones that look alike."""

from __future__ import annotations

import importlib
import json

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from hookcli.formats.parts.verdict import nothing_in_steps
from hookcli.report.encode import training_to_json
from tests.rules.training.test_script_mistakes import findings, first, judged


def net(inputs=4, outputs=1, activation=nn.Tanh):
    return nn.Sequential(nn.Linear(inputs, 8), activation(), nn.Linear(8, outputs))


def warnings(report):
    """The sentences of the verdict that are no notes."""
    return [one.sentence for one in report.diagnoses if one.severity != "note"]


# A loss whose graph begins at a new tensor


def wrapped_numbers(loss):
    return torch.tensor(loss.item(), requires_grad=True) * 1


def wrapped_data(loss):
    return loss.detach().clone().requires_grad_() ** 2


def with_loss(change):
    def train():
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(30):
            optimizer.zero_grad()
            change(model(torch.randn(8, 4)).square().mean()).backward()
            optimizer.step()

    return train


@pytest.mark.parametrize("change", [wrapped_numbers, wrapped_data])
def test_a_loss_of_a_new_tensor_is_named(change):
    report = judged(with_loss(change))
    assert first(report).startswith(
        "a step of SGD has no gradient: the loss before it is computed from a new tensor alone"
    )
    assert len(warnings(report)) == 1  # what follows from it is told with it


def test_a_loss_of_the_model_and_an_input_that_is_optimized_pass():
    def of_input():
        image = torch.randn(1, 4, requires_grad=True)
        frozen = net().requires_grad_(False)
        optimizer = torch.optim.Adam([image], lr=0.01)
        for _ in range(30):
            optimizer.zero_grad()
            frozen(image).square().mean().backward()
            optimizer.step()

    assert findings(judged(with_loss(lambda loss: loss * 2)), "gradients_used") == []
    assert findings(judged(of_input), "gradients_used") == []


# The optimizer of another model


def replaced():
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(60):
        if step == 20:
            model = net()
        optimizer.zero_grad()
        model(torch.randn(8, 4)).square().mean().backward()
        optimizer.step()


def second_has_one_of_its_own():
    former, latter = net(), net()
    optimizers = [torch.optim.SGD(one.parameters(), lr=0.01) for one in (former, latter)]
    for model in (former, latter):
        for _ in range(20):
            optimizers[0].zero_grad()
            model(torch.randn(8, 4)).square().mean().backward()
            optimizers[0].step()


def test_the_optimizer_of_another_model_is_named():
    assert first(judged(replaced)).startswith(
        "backward gives gradients to 'model', but the Adam that steps has the parameters of"
    )
    assert "the SGD that has those of" in first(judged(second_has_one_of_its_own))


def test_two_models_in_turn_with_their_own_optimizers_pass():
    def train():
        former, latter = net(), net()
        for model in (former, latter):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            for _ in range(20):
                optimizer.zero_grad()
                model(torch.randn(8, 4)).square().mean().backward()
                optimizer.step()

    assert warnings(judged(train)) == []


# Gradients of one optimizer that are never erased


def adversarial(erase):
    def train():
        maker, critic = net(4, 4), net()
        first_one = torch.optim.SGD(maker.parameters(), lr=0.001)
        second = torch.optim.SGD(critic.parameters(), lr=0.001)
        for _ in range(30):
            erase(second, critic)
            (critic(maker(torch.randn(8, 4)).detach()).square().mean() - 1).square().backward()
            second.step()
            first_one.zero_grad()
            critic(maker(torch.randn(8, 4))).mean().backward()
            first_one.step()

    return train


def test_an_optimizer_that_never_erases_beside_one_that_does_is_named():
    report = judged(adversarial(lambda optimizer, critic: None))
    assert first(report).startswith("critic: zero_grad is never called: each backward adds to")


def by_hand(optimizer, critic):
    for parameter in critic.parameters():
        if parameter.grad is not None:
            parameter.grad.zero_()


@pytest.mark.parametrize(
    "erase",
    [
        lambda optimizer, critic: optimizer.zero_grad(),
        lambda optimizer, critic: critic.zero_grad(),
        by_hand,
    ],
)
def test_gradients_that_are_erased_in_any_way_pass(erase):
    assert findings(judged(adversarial(erase)), "gradients_used") == []


# Clipping


def clipped(order):
    def train():
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(30):
            optimizer.zero_grad()
            order(model, model(torch.randn(8, 4)).square().mean())
            optimizer.step()

    return train


def scaled_by_hand(model, loss):
    (loss * 4096).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    for parameter in model.parameters():
        parameter.grad.div_(4096)


def scaled_by_a_function(model, loss):
    (loss * 1000).backward()
    nn.utils.clip_grad_norm_(list(model.parameters()), 0.5)
    torch._foreach_mul_([p.grad for p in model.parameters()], 1e-3)


def unscaled_first(model, loss):
    (loss * 4096).backward()
    for parameter in model.parameters():
        parameter.grad.div_(4096)
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)


@pytest.mark.parametrize("order", [scaled_by_hand, scaled_by_a_function])
def test_clipping_under_a_scale_by_hand_is_named(order):
    assert first(judged(clipped(order))).startswith("gradients are clipped, and then divided by")


def test_clipping_after_the_scale_is_gone_passes():
    assert findings(judged(clipped(unscaled_first)), "clipping_used") == []


def before_backward(model, loss):
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    (loss * 1e6).backward()


def test_clipping_before_backward_explains_values_that_are_not_finite():
    report = judged(clipped(before_backward))
    assert first(report).startswith("clipping has no effect: no parameter that it gets")
    assert "values are not finite" in first(report)


# What makes a loss large


def fitted(loss, *, lr=0.05, x=1.0, y=0.0, batch=64, passes=1):
    def train():
        model = net(8)
        optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        for _ in range(40):
            optimizer.zero_grad()
            for _ in range(passes):
                given = torch.randn(batch, 8)
                loss(model(given * x), 0.9 * given[:, :1] + y).backward()
            optimizer.step()

    return train


def test_a_sum_is_told_with_what_follows_from_it():
    for loss in (nn.MSELoss(reduction="sum"), lambda a, b: (a - b).square().sum()):
        report = judged(fitted(loss, lr=2.0))
        assert "the loss is a sum over 64 elements" not in first(report)  # fewer than 100
        report = judged(fitted(loss, lr=2.0, batch=256))
        assert "the loss is a sum over 256 elements, not their mean" in first(report)


def test_a_sum_with_a_small_rate_is_not_told():
    assert judged(fitted(nn.MSELoss(reduction="sum"), lr=1e-5, batch=256)).diagnoses == ()


def test_accumulation_that_is_not_averaged_is_a_note():
    report = judged(fitted(F.mse_loss, lr=1e-3, passes=8))
    assert [one.severity for one in report.diagnoses] == ["note"]
    assert first(report).startswith("each step adds the gradients of 8 backward passes")
    averaged = judged(fitted(lambda a, b: F.mse_loss(a, b) / 8, lr=1e-3, passes=8))
    assert averaged.diagnoses == ()


def test_a_closure_that_erases_gradients_adds_none():
    def train():
        model, x = nn.Linear(4, 1), torch.randn(32, 4)
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4, lr=0.1)

        def closure():
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), x.sum(1, keepdim=True))
            loss.backward()
            return loss

        for _ in range(12):
            optimizer.step(closure)

    assert judged(train).diagnoses == ()


# Predictions that are one value


def energies(offset, loss):
    def train():
        model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(),
                              nn.Linear(16, 1))  # fmt: skip
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(120):
            x = torch.rand(32, 4) * 2 - 1
            optimizer.zero_grad()
            loss(model(x), offset + 3 * x[:, :1]).backward()
            optimizer.step()

    return train


def test_raw_targets_far_from_zero_are_named():
    report = judged(energies(5000, F.mse_loss))  # by plain PyTorch: the outputs are all 5000.2
    assert findings(report, "loss_size")[0].startswith("the predictions have become one constant")
    assert "the targets are large, from 499" in first(report)


def test_targets_that_are_normalized_pass():
    assert findings(judged(fitted(F.mse_loss, lr=0.01)), "loss_size") == []


def classified(share, weight=None):
    def train():
        model = net(4, 2, nn.ReLU)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(60):
            label = (torch.rand(512) < share).long()
            x = torch.randn(512, 4) + label[:, None] * 0.5
            optimizer.zero_grad()
            F.cross_entropy(model(x), label, weight=weight).backward()
            optimizer.step()

    return train


def test_a_rare_class_that_is_never_predicted_is_named():
    assert first(judged(classified(0.02))).startswith("the model predicts class 0 for all samples")
    assert first(judged(classified(0.98))).startswith("the model predicts class 1 for all samples")


@pytest.mark.parametrize(
    ("share", "weight"), [(0.5, None), (0.2, None), (0.02, torch.tensor([0.02, 0.98]))]
)
def test_balanced_or_weighted_classes_pass(share, weight):
    assert findings(judged(classified(share, weight)), "loss_size") == []


# Units that die


def with_rate(lr, optimizer=torch.optim.Adam, bias=0.0):
    def train():
        model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(),
                              nn.Linear(16, 3))  # fmt: skip
        steps = optimizer(model.parameters(), lr=lr)
        for _ in range(60):
            label = torch.randint(0, 3, (32,))
            steps.zero_grad()
            F.cross_entropy(model(torch.rand(32, 8) + bias), label).backward()
            steps.step()

    return train


@pytest.mark.parametrize("train", [with_rate(1.0), with_rate(50.0, torch.optim.SGD, bias=1.0)])
def test_units_that_die_in_a_training_are_named(train):
    messages = findings(judged(train), "loss_size")
    assert messages
    assert "units of the ReLU behind '" in messages[0]


def test_units_that_live_pass():
    assert findings(judged(with_rate(1e-3)), "loss_size") == []


# What keeps a gradient from a model, and weights from it


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)

    def forward(self, x):
        return self.body(x).tanh()


def encoded(read):
    """A training of an encoder and a head; `read(encoder, x)` gives the features."""

    def train():
        encoder, head = Encoder(), nn.Linear(8, 1)
        optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            head(read(encoder, torch.randn(8, 4))).square().mean().backward()
            optimizer.step()

    return train


CUT = """
import torch
from torch import nn
encoder, head = nn.Sequential(nn.Linear(4, 8), nn.Tanh()), nn.Linear(8, 1)

def evaluate():
    return encoder(torch.randn(8, 4)).detach().sum()

def features_of(x):
    return torch.tensor(encoder(x).tolist())

class Hidden:
    model = encoder
    def __call__(self, x):
        return torch.tensor(self.model(x).tolist())

def train():
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    hidden = Hidden()
    for _ in range(4):
        x = torch.randn(8, 4)
        optimizer.zero_grad()
        {}
        loss.backward()
        optimizer.step()
        evaluate()
"""
UNKNOWN = "the loss does not reach them"


@pytest.mark.parametrize(
    ("code", "end", "line"),
    [
        ("loss = head(encoder(x).detach()).sum()", "in `encoder(x).detach()`", 23),
        ("y = encoder(x); loss = head(y.data).sum()", "in `y.data`", 23),
        ("loss = head(features_of(x)).sum()", "in `encoder(x).tolist()`", 10),
        # The last two are not all of the uses: evaluate() detaches, which is no cause.
        ("y = encoder(x); y.sum(); loss = head(y.detach()).sum()", UNKNOWN, None),
        ("loss = head(hidden(x)).sum()", UNKNOWN, None),
    ],
    ids=["at the call", "a variable", "in a function", "another use", "where it is not seen"],
)
def test_the_line_that_detaches_an_output_is_named(code, end, line, tmp_path, monkeypatch):
    name = f"cut_in_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(CUT.format(code))
    monkeypatch.syspath_prepend(tmp_path)
    report = judged(importlib.import_module(name).train)
    assert first(report).endswith(end)
    assert len(report.diagnoses) == 1  # a norm of 0 over all gradients has the same cause
    if line is not None:
        assert report.diagnoses[0].place.endswith(f"{name}.py:{line}")


def test_a_model_that_runs_without_graph_only_is_told_so():
    def features(encoder, x):
        with torch.no_grad():
            return encoder(x)

    report = judged(encoded(features))
    assert first(report).endswith("got no gradient: the model runs under torch.no_grad")
    assert findings(report, "uncalled_modules") == []


def test_a_gradient_that_arrives_passes():
    assert judged(encoded(lambda encoder, x: encoder(x))).diagnoses == ()


def loaded(keys):
    def train():
        net, source = Encoder(), Encoder()
        state = net.state_dict()
        state.update({keys(name): value for name, value in source.state_dict().items()})
        net.load_state_dict({name: state[name] for name in net.state_dict()})
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            net(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()

    return train


def test_a_checkpoint_none_of_whose_keys_matches_is_named():
    assert findings(judged(loaded(lambda name: name)), "loaded_weights") == []
    [message] = findings(judged(loaded("encoder.{}".format)), "loaded_weights")
    assert message.endswith("perhaps no key of the checkpoint matched")


def far(scale, spread=1.0, lr=1e-3):
    def train():
        model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        weight = torch.randn(4, 1)
        for _ in range(80):
            x = torch.randn(32, 4)
            optimizer.zero_grad()
            F.mse_loss(model(x), scale * (5 + spread * x @ weight)).backward()
            optimizer.step()

    return train


def test_targets_far_from_the_outputs_are_named_if_the_loss_does_not_fall():
    [message] = findings(judged(far(5e4, spread=0.02)), "loss_falls")
    assert message.startswith("the targets of the loss are about 2.5e+05 in size, the outputs ")
    assert findings(judged(far(1.0)), "loss_falls") == []


def test_targets_that_are_not_finite_have_no_size():
    report = json.loads(training_to_json(judged(far(float("nan")))))
    assert report["first_non_finite"] is not None


def test_models_of_one_optimizer_have_the_same_steps():
    def train():
        nets = [nn.Linear(4, 1), nn.Linear(4, 1)]
        first_net, second_net = nets
        optimizer = torch.optim.SGD([p for net in nets for p in net.parameters()], lr=0.01)
        for _ in range(4):
            x = torch.randn(8, 4)
            optimizer.zero_grad()
            (first_net(x) - second_net(x) + x[:, :1]).square().mean().backward()
            optimizer.step()

    assert " 4 steps" in nothing_in_steps(judged(train))
