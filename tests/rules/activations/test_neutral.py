"""The observer of activations changes nothing, keeps nothing, and survives every kind of tensor."""

from __future__ import annotations

import gc
import warnings
import weakref

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import hookcli
from hookcli.models.batch import Batch
from hookcli.rules.activations.measured import DEAD, SATURATED
from tests.engine.test_odd_models import entry
from tests.rules.activations.measuring import measure


class Net(nn.Module):
    """Functions and modules, in place and not."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 4)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        h = self.act(self.a(x))
        return torch.sigmoid(self.b(F.gelu(h).relu_()))


def gradients(model, batch):
    model.zero_grad()
    model(batch).sum().backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


def test_gradients_and_random_state_are_bitwise_those_of_torch():
    torch.manual_seed(0)
    model, batch = Net(), torch.randn(16, 8)
    wanted = gradients(model, batch)
    state = torch.get_rng_state()
    seen = []
    hooks = [p.register_hook(lambda g: seen.append(g.clone())) for p in model.parameters()]
    measure(model, batch, DEAD)
    assert torch.equal(torch.get_rng_state(), state)
    for hook in hooks:
        hook.remove()
    hookcli.grads(model, batch, loss="sum")
    assert all(torch.equal(a, b) for a, b in zip(gradients(model, batch), wanted, strict=True))
    assert len(seen) == len(wanted)


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_is_recomputed_once(reentrant):
    class Checkpointed(Net):
        forwards = 0

        def inner(self, x):
            Checkpointed.forwards += 1
            return super().forward(x)

        def forward(self, x):
            return checkpoint(self.inner, x, use_reentrant=reentrant)

    model, batch = Checkpointed(), torch.randn(16, 8, requires_grad=True)
    measure(model, batch, SATURATED)
    assert Checkpointed.forwards == 2


def test_hooks_of_saved_tensors_are_not_called_by_the_observer():
    packed, unpacked = [], []

    class Packed(Net):
        def forward(self, x):
            def pack(tensor):
                packed.append(1)
                return tensor

            def unpack(tensor):
                unpacked.append(1)
                return tensor

            with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
                return super().forward(x)

    measure(Packed(), torch.randn(16, 8), SATURATED)
    assert len(packed) == len(unpacked)


def test_outputs_are_not_kept_alive():
    kept = []

    class Watched(nn.Module):
        def forward(self, x):
            out = x.relu()
            kept.append(weakref.ref(out))
            return out

    model = nn.Sequential(nn.Linear(4, 4), Watched(), nn.Linear(4, 4), nn.Sigmoid())
    report = hookcli.grads(model, torch.ones(8, 4))
    gc.collect()
    assert report.error is None
    assert [ref() for ref in kept] == [None]


class Made(nn.Module):
    """A function of the input, between layers of torch.nn."""

    def __init__(self, function):
        super().__init__()
        self.scale, self.function = nn.Parameter(torch.ones(())), function
        self.relu, self.flatten = nn.ReLU(), nn.Flatten(0)

    def forward(self, x):
        made = self.function(x * self.scale)
        if isinstance(made, torch.Tensor) and made.is_floating_point():
            made = self.relu(made)
        return made, x * self.scale


MADE = {
    "sparse": lambda x: x.to_sparse(),
    "nested": lambda x: torch.nested.nested_tensor([x[0].detach(), x[1, :2].detach()]),
    "jagged": lambda x: torch.nested.nested_tensor([x[0], x[1, :2]], layout=torch.jagged),
    "complex": lambda x: torch.view_as_complex(torch.stack((x, x), -1)),
    "quantized": lambda x: torch.quantize_per_tensor(x.detach(), 0.1, 0, torch.qint8),
    "integers": lambda x: x.long(),
    "empty": lambda x: x[:0],
    "no dimension": lambda x: x.sum(),
    "bfloat16": lambda x: x.bfloat16(),
    "float8": lambda x: x.to(torch.float8_e4m3fn),
    "expanded": lambda x: x[:, :1].expand(-1, 1 << 20),
    "vmap": lambda x: torch.vmap(torch.relu)(x),
    "meta": lambda x: x.detach().to("meta"),
    "nan": lambda x: x / 0,
    "half": lambda x: x.half().relu().sigmoid(),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.filterwarnings("ignore")
def test_any_tensor_can_be_the_output(name):
    try:
        with torch.no_grad():
            Made(MADE[name])(torch.randn(16, 8))
    except (RuntimeError, NotImplementedError):
        pytest.skip("this torch cannot run the model")
    report = hookcli.trace(Made(MADE[name]), torch.randn(16, 8))
    assert report.error is None
    assert any(row.probe == "activations_read" for row in report.measurements)


def test_autocast():
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4), nn.Sigmoid())
    model[0].bias.data[:48] = -100

    class Autocast(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = model

        def forward(self, x):
            with torch.autocast("cpu", torch.bfloat16):
                return self.inner(x)

    [row] = measure(Autocast(), torch.randn(32, 8), DEAD)
    assert (row["dead"], row["units"]) == (48, 64)


def test_torchscript():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4))
    model[0].bias.data[:48] = -100
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scripted = torch.jit.script(model)
    causes = [one.cause for one in hookcli.grads(scripted, torch.randn(32, 8)).diagnoses]
    assert "dead_units" in causes


@pytest.mark.parametrize(
    "name",
    ["tensor_zero_dim", "out_endless", "in_resized_inplace", "in_mutated_containers"],
)
def test_odd_models_run(name):
    odd = entry(name)
    args, kwargs = odd.batch()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measure(odd.build(), Batch(args, kwargs), DEAD, "inspect")
