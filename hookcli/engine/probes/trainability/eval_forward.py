"""One forward in eval mode: what it writes to the model, and the dropout that is active in it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

from torch.nn.parameter import is_lazy
from torch.overrides import TorchFunctionMode

from hookcli.engine.probes.context import Requests, RerunContext, single
from hookcli.engine.probes.rerun import Rerun
from hookcli.engine.statistics.digest import digest
from hookcli.models import places
from hookcli.models.model import Call, Model
from hookcli.report.findings import Measurement

PROBE = "eval_forward"

# The functions of torch that drop values, with the positions and names of what turns them on: the
# probability, and whether the model trains (None for those that are always on).
_PLAIN = ((1, "p"), (2, "training"))
_LOW_LEVEL = ((1, "p"), (2, "train"))
_Argument = tuple[int, str]
_DROPPING: dict[str, tuple[_Argument, _Argument | None]] = {
    **dict.fromkeys(
        ("torch.nn.functional.dropout", "torch.nn.functional.dropout1d",
         "torch.nn.functional.dropout2d", "torch.nn.functional.dropout3d",
         "torch.nn.functional.alpha_dropout", "torch.nn.functional.feature_alpha_dropout"),
        _PLAIN,
    ),
    **dict.fromkeys(
        ("dropout", "dropout_", "alpha_dropout", "alpha_dropout_", "feature_dropout",
         "feature_dropout_", "feature_alpha_dropout", "native_dropout"),
        _LOW_LEVEL,
    ),
    "scaled_dot_product_attention": ((4, "dropout_p"), None),
    "torch.nn.functional.multi_head_attention_forward": ((10, "dropout_p"), (13, "training")),
}  # fmt: skip
_MOST = 20  # places that are reported


def eval_forward(again: Rerun) -> dict[str, Any]:
    """Return the buffers and parameters that a forward in eval mode changes, and active dropout."""
    before = _digests(again.model)
    calls = _Running()
    dropout = _ActiveDropout(calls)
    with again.model.observe(calls.enter, calls.leave), dropout, again.running("eval"):
        after = _digests(again.model)  # the state is restored at the end of the block
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    return {
        "buffers": [name for kind, name in changed if kind == "buffer"],
        "parameters": [name for kind, name in changed if kind == "parameter"],
        "tensors": len(before),
        "dropout": list(dropout.seen.values()),
    }


def _digests(model: Model) -> dict[tuple[str, str], str]:
    kinds = {"buffer": model.buffers(), "parameter": model.parameters()}
    return {
        (kind, info.name): digest(info.tensor)
        for kind, infos in kinds.items()
        for info in infos
        if not is_lazy(info.tensor)
    }


class _Running:
    """The calls that run, the innermost last."""

    def __init__(self) -> None:
        self.stack: list[Call] = []

    def enter(self, call: Call, _batch: Any) -> None:
        self.stack.append(call)

    def leave(self, call: Call, _output: Any, _error: BaseException | None) -> None:
        if call in self.stack:
            del self.stack[self.stack.index(call) :]


class _ActiveDropout(TorchFunctionMode):
    """Notes the calls of functions that drop values."""

    def __init__(self, calls: _Running) -> None:
        self._calls = calls
        self.seen: dict[tuple[str, str | None], dict[str, Any]] = {}

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        options = kwargs or {}
        names = _DROPPING.get(_name(func))
        if names is not None and len(self.seen) < _MOST:
            probability, training = names
            p = _argument(func, probability, args, options)
            on = training is None or _argument(func, training, args, options)
            if isinstance(p, int | float) and p > 0 and on:
                self._note(_name(func).rpartition(".")[2], float(p))
        return func(*args, **options)

    def _note(self, function: str, p: float) -> None:
        call = self._calls.stack[-1] if self._calls.stack else None
        name = None if call is None else call.name
        place = places.of_frame(sys._getframe(2))  # the line that called the function
        module = None if call is None else call.type
        key = (name or "", place)
        self.seen.setdefault(
            key,
            {"function": function, "p": p, "name": name, "module": module, "place": place},
        )


def _name(func: Any) -> str:
    name = getattr(func, "__name__", "")
    module = getattr(func, "__module__", None)
    return f"{module}.{name}" if module == "torch.nn.functional" else str(name)


def _argument(func: Any, argument: _Argument, args: Any, kwargs: dict[str, Any]) -> Any:
    """Return an argument of the call, or its default."""
    position, name = argument
    if len(args) > position:
        return args[position]
    if name in kwargs:
        return kwargs[name]
    try:
        return inspect.signature(func).parameters[name].default
    except (TypeError, ValueError, KeyError):  # a function written in C, whose default is off
        return None


def measure(_requests: Requests, context: RerunContext) -> list[Measurement]:
    """Measure what one forward in eval mode changes."""
    return single(PROBE, eval_forward(context.again))
