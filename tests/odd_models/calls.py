"""Modules called in unusual ways: not by their parent, not registered, not by __call__."""

from __future__ import annotations

import copy
import functools
import types
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ._base import Shelf, call, t

ENTRIES = Shelf()


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.act = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.fc(x))

    def encode(self, x: Tensor) -> Tensor:
        return self.fc(x)


@ENTRIES.add(
    "call_forward_directly",
    "calls child.forward(): the child has no call of its own, its children do",
    lambda: call(t(2, 4)),
)
class ForwardDirectly(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block = Block()
        self.seq = nn.Sequential(Block(), nn.Linear(4, 2))

    def forward(self, x: Tensor) -> Tensor:
        return self.seq.forward(self.block.forward(x))


@ENTRIES.add(
    "call_other_method",
    "calls a method of a child, a class's forward unbound, and a grandchild across levels",
    lambda: call(t(2, 4)),
)
class OtherMethod(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block = Block()

    def forward(self, x: Tensor) -> Tensor:
        return Block.forward(self.block, self.block.encode(x)) + self.block.fc(x)


class Borrower(nn.Module):
    """Calls modules that it was lent in a list: they are no children of it."""

    def __init__(self, *lent: nn.Module) -> None:
        super().__init__()
        self.lent = lent

    def forward(self, x: Tensor) -> Tensor:
        for module in self.lent:
            x = module(x)
        return x


@ENTRIES.add(
    "call_by_stranger",
    "children called by a sibling, and a parent's sibling's child called from deep inside",
    lambda: call(t(2, 4)),
)
class ByStranger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.owner = Block()
        self.borrower = nn.Sequential(Borrower(self.owner.fc, self.owner), nn.Tanh())

    def forward(self, x: Tensor) -> Tensor:
        return self.borrower(x)


_GLOBAL = nn.Linear(4, 4)


@ENTRIES.add(
    "call_unregistered",
    "modules in a list, a dict, a closure, a default and a global: called, not registered",
    lambda: call(t(2, 4)),
)
class Unregistered(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        hidden = nn.Tanh()
        self.plain_list = [nn.ReLU(), Borrower(nn.Sigmoid())]
        self.plain_dict = {"a": nn.Sequential(nn.GELU())}
        self.closure: Callable[[Tensor], Tensor] = lambda x: hidden(x)

    def forward(self, x: Tensor, default: nn.Module = nn.SiLU()) -> Tensor:
        for module in (*self.plain_list, *self.plain_dict.values(), self.closure, default):
            x = module(x)
        return _GLOBAL(x)


@ENTRIES.add(
    "call_made_in_forward",
    "makes a module in forward, calls it and drops it, so that ids come again",
    lambda: call(t(2, 4)),
)
class MadeInForward(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        for i in range(5):
            x = nn.Sequential(nn.Linear(4, 4), nn.Dropout(i / 10))(x)
        return nn.Softmax(-1)(x)


@ENTRIES.add(
    "call_registered_in_forward",
    "adds a child at its first call, replaces another and deletes a third",
    lambda: call(t(2, 4)),
)
class RegisteredInForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.a(x)
        self.a = nn.Identity()
        if hasattr(self, "b"):
            x = self.b(x)
            del self.b
        if not hasattr(self, "late"):
            self.late = nn.Linear(x.shape[-1], 2)
        return self.late(self.a(x))


@ENTRIES.add(
    "call_deepcopy",
    "calls a deep copy of a child, as averaging does",
    lambda: call(t(2, 4)),
    fake=False,
)
class DeepCopied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block = Block()

    def forward(self, x: Tensor) -> Tensor:
        return copy.deepcopy(self.block)(x) + copy.copy(self.block)(x)


class Doubling(nn.Linear):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(*args, **kwargs) * 2


class NoHooks(nn.Linear):
    def __call__(self, x: Tensor) -> Tensor:
        return self.forward(x)


class Bare(nn.Module):
    """Its call is a plain function: neither hooks nor forward."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    __call__ = staticmethod(torch.relu)


@ENTRIES.add(
    "call_overridden",
    "__call__ overridden: changing the result, skipping hooks, skipping forward",
    lambda: call(t(2, 4)),
)
class CallOverridden(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.doubling = Doubling(4, 4)
        self.no_hooks = NoHooks(4, 4)
        self.bare = Bare()

    def forward(self, x: Tensor) -> Tensor:
        return self.bare(self.no_hooks(self.doubling(x)))


@ENTRIES.add(
    "call_patched_forward",
    "forward replaced on the instance: a partial, a bound method, a lambda",
    lambda: call(t(2, 4)),
)
def patched_forward() -> nn.Module:
    def offloaded(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        return old(*args, **kwargs)

    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Identity())
    old = model[0].forward
    model[0].forward = functools.partial(offloaded, model[0])
    model[1].forward = types.MethodType(lambda self, x: x @ self.weight, model[1])
    model[2].forward = lambda x: model[0](x)
    return model


class Lambda(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


@ENTRIES.add(
    "call_lambda_modules",
    "modules that wrap functions, one of them a module",
    lambda: call(t(2, 4)),
)
def lambda_modules() -> nn.Module:
    lambdas = [Lambda(torch.exp), Lambda(lambda x: x.mean(0)), Lambda(Lambda(abs))]
    return nn.Sequential(Lambda(nn.Linear(4, 3)), *lambdas)


@ENTRIES.add(
    "call_scripted_child",
    "a torch.jit.script-ed and a traced child in an eager parent",
    lambda: call(t(2, 4)),
)
class ScriptedChild(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.scripted = torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
            self.traced = torch.jit.trace(nn.Linear(4, 2), torch.ones(2, 4))

    def forward(self, x: Tensor) -> Tensor:
        return self.traced(self.scripted(x))
