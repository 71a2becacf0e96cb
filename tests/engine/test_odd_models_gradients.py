"""Every odd model, backward too: what hookcli reports of gradients is what plain PyTorch gives.

The same loss by the same seeds, with and without hooks: every gradient's bits are the same, and
the model is afterwards what it was.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch

import hookcli
from hookcli.config.merge import Flags, spec_of
from hookcli.engine.attempt import Session
from hookcli.engine.losses.of_output import own_loss, probe
from hookcli.models.batch import Batch
from hookcli.spec.inputs import parse_inputs
from hookcli.spec.request import Attempt
from tests import odd_models, truth
from tests.odd_models import ODD

# Not run twice with the same outcome, or not at all, whoever runs them.
SOURCE = Path(odd_models.__file__).with_name("source.py")
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
    truth.seed()
    try:
        output = model(*args, **kwargs)
        own = own_loss(output)
        loss = probe(output, lambda _: None, seed=0, values=True) if own is None else own
        loss.backward()
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
    report = run(model, Batch(args, kwargs))
    for key, value in model.state_dict().items():
        if key in before and not torch.nn.parameter.is_lazy(value):
            assert torch.equal(_bits(value), _bits(before[key])), key
    return report


def _bits(tensor):
    return tensor.detach().nan_to_num(7.0) if tensor.is_floating_point() else tensor


@pytest.mark.parametrize("name", sorted({*ODD} - UNSTEADY))
def test_gradients_are_those_of_plain_pytorch(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        failed, norms = bare(name)
        report = hooked(name, hookcli.grads)
    if failed is not None:
        assert report.status == "partial"
        return
    assert report.error is None, report.error
    seen = sorted(float(row.grad["norm"]) for row in report.parameters if row.grad is not None)
    assert seen == pytest.approx(sorted(norms), rel=1e-5, nan_ok=True)


def order(report):
    return [(e.phase, e.kind, e.target, e.call, e.recomputed) for e in report.events]


@pytest.mark.parametrize("name", sorted(n for n in {*ODD} - UNSTEADY if ODD[n].fake))
def test_hooks_fire_in_the_same_order_under_fake_tensors(name):
    inputs = parse_inputs((f"{SOURCE}:{name}__batch",))
    spec = spec_of("trace", None, Flags(model=f"{SOURCE}:{name}", inputs=inputs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fake = Session(spec, Attempt("fake"), lambda *_: None).run().report
        real = Session(spec, Attempt("real"), lambda *_: None).run().report
    if fake.error is not None and real.error is None:
        pytest.skip(f"fake tensors do not do: {fake.error.type}")
    assert order(fake) == order(real)
