"""Models that register their own hooks."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ._base import Shelf, call, t

ENTRIES = Shelf()


@ENTRIES.add(
    "hook_pre_changes_args",
    "forward pre-hooks that change shape, dtype and number of a child's arguments",
    lambda: call(t(2, 4)),
)
class PreChangesArgs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 2)
        self.fc.register_forward_pre_hook(lambda m, args: args[0][:1, :3])
        self.fc.register_forward_pre_hook(lambda m, args: (args[0].double(),), prepend=True)
        self.fc.register_forward_pre_hook(lambda m, args: (args[0].float(),))
        self.bilinear = nn.Bilinear(2, 2, 3)
        self.bilinear.register_forward_pre_hook(lambda m, args: args * 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.bilinear(self.fc(x))


@ENTRIES.add(
    "hook_with_kwargs",
    "hooks with kwargs: they drop an argument, add one, and replace the output by a dict",
    lambda: call(t(2, 4), verbose=True),
)
class HookWithKwargs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 2)
        self.register_forward_pre_hook(self.before, with_kwargs=True)
        self.register_forward_hook(self.after, with_kwargs=True)
        self.fc.register_forward_hook(lambda m, args, out: (out, out.argmax(-1)))

    @staticmethod
    def before(module: nn.Module, args: Any, kwargs: Any) -> Any:
        return args, {k: v for k, v in kwargs.items() if k != "verbose"} | {"gain": args[0][0, 0]}

    @staticmethod
    def after(module: nn.Module, args: Any, kwargs: Any, out: Any) -> Any:
        return {"out": out, "gain": kwargs["gain"]}

    def forward(self, x: Tensor, gain: Tensor) -> Any:
        logits, best = self.fc(x)
        return logits * gain, best


@ENTRIES.add(
    "hook_replaces_output",
    "a forward hook that replaces a tensor by None, and a chain of two replacements",
    lambda: call(t(2, 4)),
)
class ReplacesOutput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.a.register_forward_hook(lambda m, args, out: out[:1])
        self.a.register_forward_hook(lambda m, args, out: [out, None])
        self.b = nn.Identity()
        self.b.register_forward_hook(lambda m, args, out: 0)

    def forward(self, x: Tensor) -> Any:
        y, none = self.a(x)
        return y, none, self.b(x)


@ENTRIES.add(
    "hook_calls_modules",
    "a hook calls another child, and the hooked module again",
    lambda: call(t(2, 4)),
)
class HookCallsModules(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.adapter = nn.Sequential(nn.Linear(4, 1), nn.Linear(1, 4))
        self.busy = False
        self.fc.register_forward_hook(self.adapt)

    def adapt(self, module: nn.Module, args: Any, out: Tensor) -> Tensor:
        if self.busy:
            return out
        self.busy = True
        again = module(self.adapter(out))
        self.busy = False
        return again

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x)


@ENTRIES.add(
    "hook_in_forward",
    "registers hooks within forward to catch activations and removes them",
    lambda: call(t(2, 4)),
)
class HookInForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))

    def forward(self, x: Tensor) -> list[Tensor]:
        caught: list[Tensor] = []
        handles = [
            module.register_forward_hook(lambda m, args, out: caught.append(out))
            for module in self.body
        ]
        try:
            self.body(x)
        finally:
            for handle in handles:
                handle.remove()
        return caught


@ENTRIES.add(
    "hook_clears_hooks",
    "a forward that removes every hook of its children and its own, whoever set them",
    lambda: call(t(2, 4)),
)
class ClearsHooks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        for module in self.modules():
            module._forward_hooks.clear()
            module._forward_pre_hooks.clear()
        return self.b(self.a(x))


@ENTRIES.add(
    "hook_one_shot",
    "a hook that removes itself while it runs",
    lambda: call(t(2, 4)),
)
class OneShot(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.act = nn.ReLU()
        self.handle = self.act.register_forward_hook(self.once)

    def once(self, module: nn.Module, args: Any, out: Tensor) -> Tensor:
        self.handle.remove()
        return out + 1

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.act(x))


@ENTRIES.add(
    "hook_always_call",
    "a hook with always_call, on a child that raises and is then skipped",
    lambda: call(t(2, 4)),
)
class AlwaysCall(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bad = nn.Linear(5, 5)
        self.seen: list[Any] = []
        self.bad.register_forward_hook(lambda m, a, out: self.seen.append(out), always_call=True)

    def forward(self, x: Tensor) -> Tensor:
        try:
            return self.bad(x)
        except RuntimeError:
            return x * len(self.seen)


@ENTRIES.add(
    "hook_backward",
    "full backward hooks, and a tensor hook, run by a backward within forward",
    lambda: call(t(2, 4)),
)
class BackwardHooks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.act = nn.Tanh()
        self.norms: list[Tensor] = []
        self.fc.register_full_backward_hook(lambda m, gin, gout: self.norms.append(gout[0].norm()))
        self.act.register_full_backward_pre_hook(lambda m, gout: (gout[0] * 2,))

    def forward(self, x: Tensor) -> Any:
        with torch.enable_grad():
            y = self.act(self.fc(x.detach().requires_grad_()))
            y.register_hook(lambda g: g + 1)
            torch.autograd.grad(y.sum(), list(self.parameters()))
        return y, self.norms[-1:]


@ENTRIES.add(
    "hook_keyword_input",
    "a pre-hook without kwargs sees no arguments, as all are passed by keyword",
    lambda: call(input=t(2, 4)),
)
def keyword_input() -> nn.Module:
    fc = nn.Linear(4, 2)
    fc.register_forward_pre_hook(lambda m, args: None if args == () else args[0][:1])
    return fc
