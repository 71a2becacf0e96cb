"""The dropout that is active while a model runs in eval mode, and other random numbers."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from types import FrameType
from typing import Any

from torch.overrides import TorchFunctionMode

from hookcli.engine.probes.function_calls import RunningCalls, caller
from hookcli.models import places
from hookcli.models.model import Model

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
# Functions and methods of torch that return or write random numbers.
_DRAWING = frozenset(
    f"{name}{end}"
    for name in ("rand", "randn", "randint", "randperm", "normal", "bernoulli", "multinomial",
                 "poisson", "uniform", "exponential", "cauchy", "geometric", "log_normal", "random")
    for end in ("", "_", "_like")
) | {f"torch.nn.functional.{name}" for name in ("gumbel_softmax", "fractional_max_pool2d",
     "fractional_max_pool2d_with_indices", "fractional_max_pool3d_with_indices")}  # fmt: skip
# Functions and types of modules that draw on purpose.
_SAMPLES = re.compile(
    r"reparam|sampl|random_?mask|generat|vae|variational|diffus|stochastic|bayes|flow",
    re.IGNORECASE,
)
_MOST = 20  # places that are reported


class DropoutWatch:
    """Notes the functions that drop values while `watching`: all, and those `by_default`.

    The latter get no argument that tells whether the model trains, or run in a module that eval()
    does not reach. A call with `training=True` may be meant, as in Monte Carlo dropout, and so may
    a module of the model that is in train mode. `random` are the other functions that draw random
    numbers, if their names do not say that they sample; `samples` tells whether there are such.
    """

    def __init__(self) -> None:
        self.random: list[dict[str, Any]] = []
        self.samples = False
        self.every: list[dict[str, Any]] = []
        self.by_default: list[dict[str, Any]] = []

    @contextmanager
    def watching(self, model: Model) -> Iterator[None]:
        """Note what drops values while the context is open."""
        calls = RunningCalls()
        noted = _Functions(calls)
        with model.observe(calls.enter, calls.leave), noted:
            yield
        self.random = [*noted.drawn.values()]
        self.samples = noted.samples
        self.every = [row for row, _ in noted.seen.values()]
        self.by_default = [row for row, is_default in noted.seen.values() if is_default]


class _Functions(TorchFunctionMode):
    """Notes the calls of functions that drop values."""

    def __init__(self, calls: RunningCalls) -> None:
        self._calls = calls
        self.seen: dict[tuple[str, str | None], tuple[dict[str, Any], bool]] = {}
        self.drawn: dict[str | None, dict[str, Any]] = {}  # by place
        self.samples = False  # whether a function draws whose name says so

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        options = kwargs or {}
        function = _name(func)
        if function in _DRAWING and len(self.drawn) < _MOST:
            own = sys._getframe(1)
            frame, _ = caller(own)
            row = self._row(function.rpartition(".")[2], frame)
            around = ["" if frame is None else frame.f_code.co_name, row["module"] or ""]
            of_distribution = str(own.f_globals.get("__name__")).startswith("torch.distributions.")
            if of_distribution or any(map(_SAMPLES.search, around)):
                self.samples = True
            else:
                self.drawn.setdefault(row["place"], row)
        names = _DROPPING.get(function)
        if names is not None and len(self.seen) < _MOST:
            probability, training = names
            p = _argument(func, probability, args, options)
            on = training is None or _argument(func, training, args, options)
            if isinstance(p, int | float) and p > 0 and on:
                frame, is_of_module = caller(sys._getframe(1))
                if is_of_module:
                    is_default = self._is_unregistered()
                else:
                    is_default = training is None or _is_omitted(frame, training)
                row = {**self._row(function.rpartition(".")[2], frame), "p": float(p)}
                self.seen.setdefault((row["name"] or "", row["place"]), (row, is_default))
        return func(*args, **options)

    def _is_unregistered(self) -> bool:
        """Return whether the module that runs is none of the model's, so that eval() misses it."""
        return bool(self._calls.stack) and self._calls.stack[-1].name is None

    def _row(self, function: str, frame: FrameType | None) -> dict[str, Any]:
        """Return what is known of a call: the module that runs, and the line."""
        call = self._calls.stack[-1] if self._calls.stack else None
        name = None if call is None else call.name
        place = None if frame is None else places.of_frame(frame)
        module = None if call is None else call.type
        return {"function": function, "name": name, "module": module, "place": place}


def _name(func: Any) -> str:
    name = getattr(func, "__name__", "")
    module = getattr(func, "__module__", None)
    return f"{module}.{name}" if module == "torch.nn.functional" else str(name)


def _is_omitted(frame: FrameType | None, argument: _Argument) -> bool:
    """Return whether the call that a frame makes is written without an argument.

    False if the source is not known, or gives arguments by `*` or `**`.
    """
    call = None if frame is None else _written_call(frame)
    if call is None:
        return False
    position, name = argument
    stars = any(isinstance(one, ast.Starred) for one in call.args)
    return (
        not stars
        and len(call.args) <= position
        and {None, name}.isdisjoint(keyword.arg for keyword in call.keywords)
    )


def _written_call(frame: FrameType) -> ast.Call | None:
    """Return the source of the call that a frame makes; None if it is not known, or before 3.11."""
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is None:
        return None
    first, last, start, end = next(islice(positions(), frame.f_lasti // 2, None), (None,) * 4)
    if first is None or last is None or start is None or end is None:
        return None
    lines = [linecache.getline(frame.f_code.co_filename, n) for n in range(first, last + 1)]
    encoded = [line.encode() for line in lines]
    encoded[-1] = encoded[-1][:end]
    encoded[0] = encoded[0][start:]
    try:
        parsed = ast.parse(b"".join(encoded).decode().strip(), mode="eval").body
    except (SyntaxError, ValueError):  # the file has changed, or was never there
        return None
    return parsed if isinstance(parsed, ast.Call) else None


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
