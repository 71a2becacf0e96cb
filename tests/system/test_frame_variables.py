"""The variables of the functions of a script: read without a trace."""

from __future__ import annotations

import sys
import weakref

import pytest
import torch
from torch import nn

from hookcli.models.places import Constructors
from hookcli.system.frame_variables import variables_of
from tests.training.test_loops import watched


def train_one(net, lr):
    optimizer = torch.optim.SGD(net.parameters(), lr=lr)
    for _ in range(5):
        batch = torch.randn(8, 4)
        loss = (net(batch) - batch.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def test_locals_of_a_script_stay_as_they_were():
    """A dictionary of its arguments does not get the variables that come later."""
    found = []

    def train(rate=0.1, size=4):
        config = locals()
        net = nn.Sequential(nn.Linear(size, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=rate)
        for _ in range(5):
            optimizer.zero_grad()
            net(torch.randn(8, size)).square().mean().backward()
            optimizer.step()
        found.append(sorted(config))

    watched(train)
    assert found == [["found", "rate", "size"]]


def test_locals_of_a_constructor_stay_as_they_were():
    class Net(nn.Module):
        def __init__(self, size=4):
            super().__init__()
            given = locals()
            first = nn.Linear(size, size)
            self.layers = nn.Sequential(first, nn.ReLU())
            self.given = sorted(given)

    plain = Net().given
    with Constructors() as constructors:
        net = Net()
    assert net.given == plain
    assert constructors.of(net.layers[0]) is not None


def test_what_a_function_drops_is_freed():
    """A model that was named in a function does not stay alive until the function ends."""
    freed = []

    def train():
        net = nn.Sequential(nn.Linear(4, 1))
        train_one(net, 0.1)
        other = nn.Sequential(nn.Linear(4, 1))
        reference = weakref.ref(net)
        del net
        train_one(other, 0.1)
        freed.append(reference() is None)

    watched(train)
    assert freed == [True]


def test_the_variables_are_those_of_now():
    def outer(a, *more, key=None):
        inner = 3

        def use():
            return inner

        return dict(variables_of(sys._getframe())), use

    found, use = outer(1, 2, key="k")
    assert use() == 3
    assert {"a": 1, "more": (2,), "key": "k", "inner": 3}.items() <= found.items()


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="each call of locals() makes a dictionary")
def test_code_that_may_read_its_locals_is_left_alone():
    def reads():
        one = 1
        kept = locals()
        two = 2
        found = variables_of(sys._getframe())
        return one, two, found, kept

    one, two, found, kept = reads()
    assert (one, two) == (1, 2)
    assert found == {}
    assert kept == {"one": 1}


def test_a_module_has_its_own_namespace():
    scope = {"sys": sys, "variables_of": variables_of}
    exec("found = variables_of(sys._getframe())", scope)
    assert scope["found"] is scope


def test_a_method_of_such_a_name_reads_no_variables():
    def evaluates():
        net = nn.Linear(2, 1)
        net.eval()
        return net, variables_of(sys._getframe())

    net, found = evaluates()
    assert found["net"] is net
