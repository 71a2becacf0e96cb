"""A model that is inspected in process is afterwards bitwise what it was, also when it raises."""

from __future__ import annotations

import copy
import random
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.modules import module as torch_module

import hookcli
from hookcli.models.batch import Batch
from tests.engine.test_odd_models import entry
from tests.odd_models import ODD, RAISING

HOOKS = [name for name in vars(nn.Module()) if name.endswith("hooks") or "hooks_" in name]
GLOBALS = [n for n in vars(torch_module) if n.startswith("_global_")]
# These change what no hook could put back: a deep copy cannot be compared, or equality is theirs.
ODD_STATE = {"hostile_sealed"}


def bits(tensor):
    if nn.parameter.is_lazy(tensor):
        return "lazy"
    if tensor.layout is not torch.strided or tensor.is_nested:
        return str(tensor)
    data = tensor.detach().contiguous()
    return (tuple(data.shape), str(data.dtype), data.reshape(-1).view(torch.uint8).tolist()
            if data.numel() and not data.is_complex() else str(data.tolist()))  # fmt: skip


def modules_of(root):
    seen, todo = {}, [root]
    while todo:
        module = todo.pop()
        if id(module) not in seen:
            seen[id(module)] = module
            todo += [m for m in module._modules.values() if m is not None]
    return list(seen.values())


def state(root):
    """Everything that a run could write, by object and by bits."""
    modules = modules_of(root)
    return {
        "modules": [id(m) for m in modules],
        "classes": [type(m) for m in modules],
        "attributes": [
            {k: id(v) for k, v in vars(m).items() if not isinstance(v, (bool, int, float))}
            for m in modules
        ],
        "plain": [
            {k: v for k, v in vars(m).items() if isinstance(v, (bool, int, float, str))}
            for m in modules
        ],
        "hooks": [{h: list(vars(m).get(h, ())) for h in HOOKS} for m in modules],
        "flags": [m._is_full_backward_hook for m in modules],
        "globals": {
            name: list(value) if hasattr(value := getattr(torch_module, name), "clear") else value
            for name in GLOBALS
        },
        "parameters": [
            {k: (id(p), bits(p), p.requires_grad, None if p.grad is None else bits(p.grad))
             for k, p in m._parameters.items() if p is not None}
            for m in modules
        ],
        "tensor hooks": [
            {k: dict(p._backward_hooks or {}) for k, p in m._parameters.items() if p is not None}
            for m in modules
        ],
        "buffers": [
            {k: (id(b), bits(b)) for k, b in m._buffers.items() if b is not None} for m in modules
        ],
        "random": (
            torch.get_rng_state().tolist(),
            random.getstate(),
            str(np.random.get_state()),
        ),
        "grad mode": torch.is_grad_enabled(),
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted({*ODD, *RAISING} - ODD_STATE))
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_a_run_in_process_leaves_everything_as_it_was(name, mode):
    odd = entry(name)
    torch.manual_seed(3)
    model = odd.build()
    args, kwargs = odd.batch()
    torch.manual_seed(5)
    before = state(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = hookcli.inspect(model, Batch(args, kwargs), mode=mode)
    after = state(model)
    del report
    for key in before:
        assert after[key] == before[key], key


def test_gradients_that_were_there_are_kept():
    model = nn.Linear(2, 2)
    model(torch.ones(1, 2)).sum().backward()
    grad, value = model.weight.grad, model.weight.grad.clone()

    class Wrapped(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = model

        def forward(self, x):
            out = self.inner(x)
            out.sum().backward()
            return out

    hookcli.inspect(Wrapped(), torch.ones(1, 2))
    assert model.weight.grad is grad
    assert torch.equal(grad, value)


def test_a_pending_backward_still_works_after_an_inspection_in_between():
    """Restoring buffers must not look like an in-place write to autograd."""
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).eval()
    loss = model(torch.randn(4, 2)).sum()
    hookcli.inspect(model, torch.randn(4, 2), mode="train")
    loss.backward()
    assert model[0].weight.grad is not None


def test_batch_norm_statistics_are_put_back_and_reported_as_changed():
    model = nn.Sequential(nn.BatchNorm1d(3))
    before = copy.deepcopy(model.state_dict())
    report = hookcli.inspect(model, torch.randn(4, 3), mode="train")
    assert [row.name for row in report.buffers if row.changed] == [
        "0.running_mean", "0.running_var", "0.num_batches_tracked",
    ]  # fmt: skip
    for key, value in model.state_dict().items():
        assert torch.equal(value, before[key])


def test_a_parameter_too_large_to_copy_is_told_when_the_forward_writes_it(monkeypatch):
    class Writes(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(2))
            self.other = nn.Parameter(torch.ones(2))

        def forward(self, x):
            with torch.no_grad():
                self.scale.mul_(2)
            return x * self.scale

    assert hookcli.inspect(Writes(), torch.ones(2)).warnings == ()
    monkeypatch.setattr("hookcli.engine.neutrality.model_state.available", lambda: 8)
    report = hookcli.inspect(Writes(), torch.ones(2))
    message = "the run changed the parameter scale: its values were not restored"
    assert report.warnings == (message,)


def test_an_interrupt_is_passed_on_after_everything_is_put_back():
    class Stops(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 2)

        def forward(self, x):
            self.inner(x)
            raise KeyboardInterrupt

    model = Stops()
    before = state(model)
    with pytest.raises(KeyboardInterrupt):
        hookcli.inspect(model, torch.ones(2))
    assert state(model) == before


def test_outputs_are_not_kept_alive():
    import gc
    import weakref

    kept = []

    class Watched(nn.Linear):
        def forward(self, x):
            out = super().forward(x)
            kept.append(weakref.ref(out))
            return out

    model = nn.Sequential(Watched(4, 4), Watched(4, 4))
    report = hookcli.inspect(model, torch.ones(1, 4))
    gc.collect()
    assert len(kept) == 2
    assert all(ref() is None for ref in kept)
    assert report.totals.calls == 3
