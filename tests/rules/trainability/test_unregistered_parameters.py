"""`unregistered_parameters`: layers in plain lists, tensors that require grad, new parameters."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import hookcli

X = torch.randn(3, 4)


class Net(nn.Module):
    def __init__(self, kept=None, before=None, forward=None):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.ones(4))
        self.kept = kept
        self.before, self.run = before, forward

    def forward(self, x):
        if self.before is not None:
            self.before(self)
        x = self.fc(x) * self.scale
        return x if self.run is None else self.run(self, x)


def each(self, x):
    for layer in self.kept.values() if isinstance(self.kept, dict) else self.kept:
        x = layer(x)
    return x


def replace(self):
    self.scale = nn.Parameter(self.scale.detach().clone())


def linears(count=2):
    return [nn.Linear(4, 4) for _ in range(count)]


FAULTS = {
    "list": (Net(linears(), forward=each), "kept", "'kept' is a plain list, so its 4 parameters"),
    "dict": (
        Net(dict(enumerate(linears())), forward=each), "kept", "'kept' is a plain dict, so its 4",
    ),
    "tensor": (
        Net(torch.ones(4, requires_grad=True), forward=lambda self, x: x * self.kept),
        "kept", "'kept' is a tensor that requires grad, but not an nn.Parameter",
    ),
    "copy": (
        Net(forward=lambda self, x: x * nn.Parameter(self.scale)),
        "scale", "forward makes a new nn.Parameter of 'scale'",
    ),
    "replaced": (Net(before=replace), "scale", "forward replaces 'scale' by a new nn.Parameter"),
    "late": (
        Net(
            before=lambda self: setattr(self, "bias", nn.Parameter(torch.zeros(4))),
            forward=lambda self, x: x + self.bias,
        ),
        "bias", "forward registers 'bias'",
    ),
    "made": (
        Net(forward=lambda _, x: nn.Linear(4, 4)(x)),
        "Linear", "2 parameters that 'Linear' uses are made in forward",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_parameters_that_no_optimizer_changes_are_named(name):
    model, target, message = FAULTS[name]
    trained = set(map(id, model.parameters()))
    report = hookcli.check(model, inputs=X, rules=["unregistered_parameters"])
    (row,) = report.findings
    assert row.target == target
    assert row.message.startswith(message)
    report = hookcli.check(model, inputs=X)
    assert "unregistered_parameters" in {cause.cause for cause in report.diagnoses}
    # By hand: the leaves of the graph that are not parameters of the model.
    waiting, leaves = [model(X).grad_fn], set()
    while waiting:
        node = waiting.pop()
        leaves.update({id(node.variable)} if hasattr(node, "variable") else ())
        waiting += [following for following, _ in node.next_functions if following]
    assert leaves - trained


HEALTHY = {
    "module list": Net(nn.ModuleList(linears()), forward=each),
    "hidden, not used": Net(linears()),
    "hidden, without grad": Net([nn.Linear(4, 4).requires_grad_(False)], forward=each),
    "differentiated by its input": Net(
        forward=lambda self, x: (
            torch.autograd.grad(
                self.fc(z := x.detach().requires_grad_()).sum(), z, create_graph=True
            )[0]
            * x
        )
    ),
    "functional": Net(forward=lambda self, x: x * self.scale.exp() + self.fc.weight.sum()),
    "lazy": nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(2)),
    "weight norm": nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)),
    "traced": torch.jit.trace(nn.Linear(4, 4), X),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_registered_parameters_and_other_leaves_are_fine(name):
    report = hookcli.check(HEALTHY[name], inputs=X, rules=["unregistered_parameters"])
    assert [row.status for row in report.checks] == ["pass"]


def test_the_input_may_require_grad():
    x = X.clone().requires_grad_()
    report = hookcli.check(Net(), inputs=x, rules=["unregistered_parameters"])
    assert [row.status for row in report.checks] == ["pass"]
