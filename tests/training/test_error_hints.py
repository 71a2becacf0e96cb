"""Errors that torch raises in trainings have a hint that fits them."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # its usual name
from torch import nn

from hookcli.known_failures import training_hint
from tests.conftest import run_cli


def labels_from_one():
    F.cross_entropy(torch.randn(2, 3, requires_grad=True), torch.tensor([1, 3]))


def negative_label():
    F.cross_entropy(torch.randn(2, 3, requires_grad=True), torch.tensor([1, -1]))


def one_sample():
    nn.BatchNorm1d(3)(torch.randn(1, 3))


def twice():
    loss = nn.Linear(2, 1)(torch.ones(1, 2)).square().sum()
    loss.backward()
    loss.backward()


def no_graph():
    nn.Linear(2, 1)(torch.ones(1, 2)).detach().sum().backward()


def float_labels():
    F.nll_loss(torch.randn(2, 3).log_softmax(1), torch.tensor([1.0, 0.0]))


def integer_targets():
    F.binary_cross_entropy_with_logits(torch.ones(3, 1), torch.ones(3, 1, dtype=torch.long))


def integer_probabilities():
    F.binary_cross_entropy(torch.full((3, 1), 0.5), torch.ones(3, 1, dtype=torch.long))


def nothing_to_train():
    torch.optim.SGD([], lr=0.1)


ERRORS = {
    labels_from_one: "make the labels go from 0",
    negative_label: "make the labels go from 0",
    one_sample: "pass `drop_last=True`",
    twice: "call backward once",
    no_graph: "look for `detach`",
    float_labels: "convert the labels with `.long()`",
    integer_targets: "convert the targets with `.float()`",
    integer_probabilities: "convert the targets with `.float()`",
    nothing_to_train: "register the layers",
}


@pytest.mark.parametrize("fails", ERRORS)
def test_an_error_of_torch_has_a_hint(fails):
    with pytest.raises((RuntimeError, ValueError, IndexError)) as error:
        fails()
    hint = training_hint(f"{type(error.value).__name__}: {error.value}")
    assert hint is not None, error.value
    assert hint.startswith(ERRORS[fails])


def test_an_error_of_the_script_has_none():
    assert training_hint("ValueError: my own: Target 3 is out of bounds") is None


def test_the_summary_has_the_hint(tmp_path):
    (tmp_path / "train.py").write_text(
        "import torch\n"
        "net = torch.nn.Linear(2, 3)\n"
        "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for label in (1, 2, 3):\n"
        "    optimizer.zero_grad()\n"
        "    output, target = net(torch.ones(1, 2)), torch.tensor([label])\n"
        "    loss = torch.nn.functional.cross_entropy(output, target)\n"
        "    loss.backward()\n"
        "    optimizer.step()\n"
    )
    done = run_cli("run", "train.py", cwd=tmp_path)
    assert done.status == 1
    assert "note: make the labels go from 0" in done.err
