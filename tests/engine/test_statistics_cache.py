"""Remembered statistics are those of the tensor as it is now."""

from __future__ import annotations

import pytest
import torch

from hookcli.engine.statistics.cache import StatisticsCache
from hookcli.engine.statistics.statistics import statistics


def counting():
    calls = []
    return calls, StatisticsCache(lambda t: calls.append(t.shape) or statistics(t))


def test_a_tensor_is_measured_once():
    counted, known = counting()
    x = torch.randn(100, 100)
    assert known(x) == known(x) == known(x.view(100, 100)) == statistics(x)
    assert len(counted) == 1


@pytest.mark.parametrize(
    "change", [lambda x: x.add_(1), lambda x: x[0].zero_(), lambda x: x.copy_(torch.ones(100, 100))]
)
def test_a_write_is_seen(change):
    known, x = StatisticsCache(statistics), torch.randn(100, 100)
    known(x)
    change(x)
    assert known(x) == statistics(x)


@pytest.mark.parametrize(
    "view", [lambda x: x[:50], lambda x: x[50:], lambda x: x.t(), lambda x: x.view(torch.int32)]
)
def test_another_view_is_another_tensor(view):
    known, x = StatisticsCache(statistics), torch.randn(100, 100)
    known(x)
    assert known(view(x)) == statistics(view(x))


def test_memory_that_is_used_again_is_not_taken_for_what_was_there():
    known = StatisticsCache(statistics)
    for i in range(200):
        x = torch.full((100, 100), float(i))
        assert known(x)["max"] == float(i)
        del x


def test_conjugates_and_negatives_are_told_apart():
    known, x = StatisticsCache(statistics), torch.randn(100, 100, dtype=torch.complex64)
    for one in (x, x.conj(), x.conj().imag):
        assert known(one) == statistics(one)


def test_only_the_last_ones_are_remembered():
    counted, known = counting()
    tensors = [torch.randn(5000) for _ in range(40)]
    for tensor in tensors:
        known(tensor)
    known(tensors[0])
    assert len(counted) == 41


def test_a_tensor_that_is_given_other_memory_is_measured_again():
    known, weight = StatisticsCache(statistics), torch.nn.Parameter(torch.zeros(100, 100))
    for i in range(50):
        assert known(weight)["max"] == float(i)
        weight.data = weight.data + 1  # its version stays, and memory comes back


def test_a_gradient_that_is_written_is_measured_again():
    known, found = StatisticsCache(statistics), []

    def hook(gradient):
        found.append(known(gradient)["max"])
        found.append(known(gradient)["max"])
        gradient.add_(1)
        found.append(known(gradient)["max"])

    x = torch.ones(100, 100, requires_grad=True)
    y = x * 2
    y.register_hook(hook)
    (y * 3).sum().backward()
    assert found == [3.0, 3.0, 4.0]


@pytest.mark.parametrize("changed", [0, 1])
def test_two_tensors_are_measured_together_until_one_is_written(changed):
    counted = []
    known = StatisticsCache(lambda a, b: counted.append(1) or statistics(a + b))
    pair = [torch.ones(100, 100), torch.ones(100, 100)]
    assert known(*pair) == known(*pair) == statistics(pair[0] + pair[1])
    assert len(counted) == 1
    pair[changed].add_(1)
    assert known(*pair)["max"] == 3.0
    assert known(*reversed(pair))["max"] == 3.0
    assert len(counted) == 3


@pytest.mark.parametrize(("elements", "measured"), [(4095, 2), (4096, 1)])
def test_small_tensors_are_measured_each_time(elements, measured):
    counted, known = counting()
    x = torch.randn(elements)
    assert known(x) == known(x) == statistics(x)
    assert len(counted) == measured


def test_the_last_sixteen_results_are_kept():
    counted, known = counting()
    tensors = [torch.randn(5000) for _ in range(17)]
    for tensor in (*tensors[:16], *tensors[:16]):
        known(tensor)
    assert len(counted) == 16
    known(tensors[16])
    known(tensors[1])
    assert len(counted) == 17
    known(tensors[0])  # the 17th took its place
    assert len(counted) == 18


def test_parameters_are_cached_and_subclasses_are_not():
    class Own(torch.Tensor):
        pass

    counted, known = counting()
    parameter, own = torch.nn.Parameter(torch.randn(5000)), torch.randn(5000).as_subclass(Own)
    for _ in range(2):
        known(parameter)
    assert len(counted) == 1
    for _ in range(2):
        known(own)
    assert len(counted) == 3


def test_tensors_without_a_version_or_strides_are_measured_each_time():
    with torch.inference_mode():
        x = torch.ones(100, 100)
        known = StatisticsCache(statistics)
        assert known(x)["max"] == 1.0
        x.add_(1)
        assert known(x)["max"] == 2.0
    sparse = torch.eye(100).to_sparse()
    assert known(sparse) == known(sparse) == statistics(sparse)


@pytest.mark.parametrize("lost", [0, 1])
def test_a_pair_is_measured_again_if_one_of_them_has_other_memory(lost):
    known = StatisticsCache(lambda a, b: statistics(a + b))
    pair = [torch.zeros(100, 100), torch.zeros(100, 100)]
    for i in range(100):
        assert known(*pair)["max"] == float(i)
        pair[lost] = None
        pair[lost] = torch.full((100, 100), float(i + 1))  # where the lost one was, often


def backward_with(hook):
    x = torch.ones(100, 100, requires_grad=True)
    y = x * 2
    y.register_hook(hook)
    (y * 3).sum().backward()


def test_in_a_backward_pass_a_gradient_is_measured_once():
    counted, known = counting()
    backward_with(lambda gradient: [known(gradient), known(gradient.view(100, 100))] and None)
    assert len(counted) == 1


def test_in_a_backward_pass_a_lost_tensor_is_not_taken_for_its_successor():
    def hook(_):
        for i in range(100):
            x = torch.full((100, 100), float(i))
            assert known(x)["max"] == float(i)
            del x

    known = StatisticsCache(statistics)
    backward_with(hook)


def test_in_a_backward_pass_other_memory_is_measured_again():
    def hook(_):
        x = torch.zeros(100, 100)
        for i in range(50):
            assert known(x)["max"] == float(i)
            x.data = x.data + 1

    known = StatisticsCache(statistics)
    backward_with(hook)


def test_memory_that_comes_back_unseen_is_measured_again():
    known, weight = StatisticsCache(statistics), torch.nn.Parameter(torch.zeros(100, 100))
    for i in range(50):
        assert known(weight)["max"] == float(i)
        weight.data = weight.data + 0.5  # the former memory is free, and comes back
        weight.data = weight.data + 0.5


def test_in_a_backward_pass_a_pair_with_other_memory_is_measured_again():
    def hook(_):
        x, y = torch.zeros(100, 100), torch.zeros(100, 100)
        for i in range(50):
            assert known(x, y)["max"] == float(i)
            x.data = x.data + 1

    known = StatisticsCache(lambda a, b: statistics(a + b))
    backward_with(hook)
