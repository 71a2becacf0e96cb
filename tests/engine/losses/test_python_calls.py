"""Calls of functions are told without a change of the functions, and nothing is left behind."""

from __future__ import annotations

import sys

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from hookcli.engine.probes.losses.python_calls import PythonCalls
from tests.training.test_loops import watched


def double(number, times=2):
    return number * times


def watch(told, most=1000):
    code = double.__code__
    return PythonCalls(
        {code: lambda frame: told.append(dict(frame.f_locals))},
        {code: lambda frame, result: told.append(result)},
        most,
    )


@pytest.fixture(autouse=True)
def _no_profile():
    before = sys.getprofile()
    sys.setprofile(None)
    yield
    sys.setprofile(before)


def test_arguments_and_results_are_told():
    told = []
    calls = watch(told)
    double(1)
    assert calls.start()
    assert double(3, times=5) == 15
    calls.stop()
    double(2)
    assert told == [{"number": 3, "times": 5}, 15]
    assert sys.getprofile() is None


def test_another_profiler_stays():
    def other(frame, event, result):
        pass

    told = []
    calls = watch(told)
    sys.setprofile(other)
    assert not calls.start()
    double(1)
    assert sys.getprofile() is other and told == []
    sys.setprofile(None)
    calls.start()
    sys.setprofile(other)  # of the script, meanwhile
    calls.stop()
    assert sys.getprofile() is other


def test_an_error_of_a_look_is_not_raised_in_the_code_that_is_watched():
    def fail(frame):
        raise ValueError("of a look")

    calls = PythonCalls({double.__code__: fail}, {}, 1000)
    calls.start()
    assert double(3) == 6
    assert sys.getprofile() is None
    assert str(calls.error) == "of a look"
    assert not calls.start()


def test_no_more_than_some_calls_are_told():
    told = []
    calls = watch(told, most=10)
    calls.start()
    for number in range(50):
        double(number)
    assert 0 < len(told) <= 10
    assert sys.getprofile() is None
    assert calls.start() and calls.start()  # again, and while it tells
    calls.stop()


def test_a_training_has_no_profile_function_outside_of_its_first_forwards():
    seen = []

    def train():
        net = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(12):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(torch.randn(6, 4)), torch.arange(6) % 3)
            seen.append(sys.getprofile() is not None)
            loss.backward()
            assert sys.getprofile() is None
            optimizer.step()

    watched(train)
    assert seen == [True] * 8 + [False, True, False, False]
    assert sys.getprofile() is None
