"""Models that use autograd, torch.func or the RNG inside forward."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, jacrev, stack_module_state, vmap
from torch.utils.checkpoint import checkpoint

from ._base import Shelf, call, t

ENTRIES = Shelf()


class Energy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 4), nn.SiLU(), nn.Linear(4, 1))

    def forward(self, r: Tensor) -> Tensor:
        return self.net(r).sum()


@ENTRIES.add(
    "grad_force_field",
    "forces are the gradient of an energy: autograd.grad in forward",
    lambda: call(t(5, 3)),
)
class ForceField(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.energy = Energy()

    def forward(self, r: Tensor) -> dict[str, Tensor]:
        r = r.detach().requires_grad_()
        e = self.energy(r)
        (g,) = torch.autograd.grad(e, r, create_graph=self.training)
        return {"energy": e, "forces": -g}


@ENTRIES.add(
    "grad_under_no_grad",
    "turns grad on again in forward, calls backward() and clears the gradients",
    lambda: call(t(2, 4)),
)
class TestTimeTraining(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        with torch.enable_grad():
            self.fc(x).square().mean().backward()
        weight = self.fc.weight
        shift = weight.grad
        weight.grad = self.fc.bias.grad = None
        assert shift is not None
        return self.fc(x) @ shift


class Shifted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.act = nn.Tanh()

    def forward(self, x: Tensor, *, shift: float = 0.0) -> Tensor:
        return self.act(self.fc(x)) + shift


@ENTRIES.add(
    "grad_checkpoint",
    "torch.utils.checkpoint in both forms, one with a keyword argument",
    lambda: call(t(2, 4)),
)
class Checkpointed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.reentrant = Shifted()
        self.plain = Shifted()

    def forward(self, x: Tensor) -> Tensor:
        y = checkpoint(self.reentrant, self.first(x), use_reentrant=True)
        return checkpoint(self.plain, y, use_reentrant=False, shift=1.0)


@ENTRIES.add(
    "grad_checkpoint_backward",
    "checkpointed children run a second time, from backward, after their parent's call of them",
    lambda: call(t(2, 4)),
)
class CheckpointBackward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.again = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        with torch.enable_grad():
            y = checkpoint(self.again, self.first(x), use_reentrant=False)
            (g,) = torch.autograd.grad(y.sum(), self.first.weight)
        return y, g


@ENTRIES.add(
    "func_vmap_child",
    "a child called under vmap: it sees batched tensors without their batch dimension",
    lambda: call(t(5, 3, 4)),
)
class VmapChild(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return vmap(vmap(self.fc))(x)


@ENTRIES.add(
    "func_grad_child",
    "grad and jacrev of a child within forward",
    lambda: call(t(3)),
)
class GradChild(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.energy = Energy()
        self.fc = nn.Linear(3, 2)

    def forward(self, r: Tensor) -> tuple[Any, ...]:
        return grad(self.energy)(r), jacrev(self.fc)(r)


@ENTRIES.add(
    "func_functional_call",
    "a child called with other weights by functional_call",
    lambda: call(t(2, 4)),
)
class FunctionalCall(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        fast = {name: p * 0.9 for name, p in self.fc.named_parameters()}
        return functional_call(self.fc, fast, (x,)) - self.fc(x)


@ENTRIES.add(
    "func_ensemble",
    "an ensemble by stack_module_state and vmap: the called module is a meta one",
    lambda: call(t(2, 4)),
)
class Ensemble(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.members = nn.ModuleList(nn.Linear(4, 2) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        params, buffers = stack_module_state(list(self.members))
        base = [nn.Linear(4, 2, device="meta")]

        def one(p: Any, b: Any) -> Tensor:
            return functional_call(base[0], (p, b), (x,))

        return vmap(one)(params, buffers)


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, module: nn.Module) -> Tensor:
        return module(x).round()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return grads[0], None


@ENTRIES.add(
    "grad_custom_function",
    "a child called within an autograd.Function",
    lambda: call(t(2, 4)),
)
class CustomFunction(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.act = nn.Sigmoid()

    def forward(self, x: Tensor) -> Tensor:
        return StraightThrough.apply(self.fc(x), self.act)


@ENTRIES.add(
    "grad_rng_in_forward",
    "draws random numbers, also to pick how its children are called",
    lambda: call(t(2, 4)),
)
class RandomForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mean = nn.Linear(4, 3)
        self.log_var = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        noise = torch.randn(2, 3, generator=torch.Generator().manual_seed(0))
        return self.mean(x) + self.log_var(x).exp().sqrt() * noise


@ENTRIES.add(
    "grad_inplace_relu_chain",
    "in-place children: every recorded output is the same storage",
    lambda: call(t(2, 4)),
)
def inplace_chain() -> nn.Module:
    return nn.Sequential(
        nn.Linear(4, 4), nn.ReLU(inplace=True), nn.Hardtanh(inplace=True), nn.ELU(inplace=True)
    )
