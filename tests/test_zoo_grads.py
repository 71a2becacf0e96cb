"""Every odd model, backward too: what hookcli reports of gradients is what plain PyTorch gives.

The same loss by the same seeds, with and without hooks: every gradient's bits are the same, and
the model is afterwards what it was.
"""

from __future__ import annotations

import warnings

import pytest
import torch

import hookcli
from hookcli.run.loss import loss_function
from tests import truth
from tests.zoo import ODD

# Not run twice with the same outcome, or not at all, whoever runs them.
UNSTEADY = {"flow_threads_at_once"}


def bare(name):
    """(the error or None, norms of the parameters' gradients) by plain PyTorch."""
    odd = ODD[name]
    truth.seed()
    model = odd.build().train()
    for module in every_module(model):
        for parameter in module._parameters.values():
            if parameter is not None:
                parameter.grad = None
    args, kwargs = odd.batch()
    loss = loss_function("probe", lambda _: None, seed=0, values=True, function=None)
    truth.seed()
    try:
        loss(model(*args, **kwargs)).backward()
    except Exception as error:
        return type(error).__name__, []
    norms, seen = [], set()
    for module in every_module(model):
        for parameter in module._parameters.values():
            if parameter is None or parameter.grad is None or id(parameter) in seen:
                continue
            seen.add(id(parameter))
            dense = parameter.grad.to_dense()
            wide = dense.to(torch.complex128 if dense.is_complex() else torch.float64)
            norms.append(float(wide.norm()))
    return None, norms


def every_module(root):
    """By the registered tree alone: a model may override torch's iterators."""
    todo, seen = [root], set()
    while todo:
        module = todo.pop()
        if id(module) not in seen:
            seen.add(id(module))
            yield module
            todo += [child for child in module._modules.values() if child is not None]


def hooked(name, run):
    odd = ODD[name]
    truth.seed()
    model = odd.build().train()
    args, kwargs = odd.batch()
    before = {
        k: v.clone()
        for k, v in model.state_dict().items()
        if isinstance(v, torch.Tensor) and not torch.nn.parameter.is_lazy(v)
    }
    report = run(model, _batch(args, kwargs))
    for key, value in model.state_dict().items():
        if key in before and not torch.nn.parameter.is_lazy(value):
            assert torch.equal(_bits(value), _bits(before[key])), key
    return report


def _bits(tensor):
    return tensor.detach().nan_to_num(7.0) if tensor.is_floating_point() else tensor


def _batch(args, kwargs):
    return kwargs if kwargs else args


@pytest.mark.parametrize("name", sorted({*ODD} - UNSTEADY))
def test_gradients_are_those_of_plain_pytorch(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        args, kwargs = ODD[name].batch()
        if args and kwargs:
            pytest.skip("the Python API takes positional or keyword arguments")
        failed, norms = bare(name)
        report = hooked(name, hookcli.grads)
    if failed is not None:
        assert report.status == "partial"
        return
    assert report.error is None, report.error
    seen = sorted(float(row.grad["norm"]) for row in report.parameters if row.grad is not None)
    assert seen == pytest.approx(sorted(norms), rel=1e-5, nan_ok=True)
