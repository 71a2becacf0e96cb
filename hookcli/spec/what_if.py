"""A training step whose memory is asked for: `batch=32,dtype=float16,optimizer=adamw`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hookcli.sentences import given_twice, not_floating_point, unknown
from hookcli.spec.hooks import OPTIMIZERS, OptimizerSpec
from hookcli.spec.inputs import FLOATING, canonical_dtype
from hookcli.text import nearest, try_instead

# LBFGS keeps as many tensors as iterations ran; SparseAdam requires sparse gradients.
ESTIMATED = tuple(name for name in OPTIMIZERS if name not in {"LBFGS", "SparseAdam"})
AUTOCAST = ("float16", "bfloat16")
DTYPES = tuple(name for name in FLOATING if not name.startswith("float8"))  # torch trains in none
_MOST = 1 << 40  # samples
_DIMS = 64  # of a tensor


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What differs from the run itself; None: nothing. `text` is as it was typed.

    `batch` is the number of samples, in dimension `batch_dim` of every input. `optimizer` is a
    class of torch.optim with the options that change what it stores.
    """

    text: str
    batch: int | None = None
    batch_dim: int = 0
    dtype: str | None = None
    autocast: str | None = None
    optimizer: OptimizerSpec | None = None
    origin: str = field(default="", compare=False)  # the line of a configuration

    @property
    def place(self) -> str:
        """The place for errors."""
        return self.origin or f"--what-if {self.text}"

    @property
    def runs_again(self) -> bool:
        """Whether the model must run once more to give the answer."""
        return (self.batch, self.dtype, self.autocast) != (None, None, None)


def _whole(least: int, most: int) -> Callable[[str, str], int]:
    def read(key: str, value: str) -> int:
        digits = value.isascii() and value.isdigit() and len(value) < 20
        if not digits or not least <= int(value) <= most:
            raise ValueError(
                f"{key} must be an integer between {least} and {most}, got '{value}'",
                f"write `{key}={max(least, 1)}`",
            )
        return int(value)

    return read


def _dtype(_: str, value: str) -> str:
    dtype = canonical_dtype(value)
    if dtype not in FLOATING:
        raise ValueError(not_floating_point(value), _choose(value, DTYPES))
    if dtype not in DTYPES:
        raise ValueError(f"models do not train in {dtype}", f"choose from {', '.join(DTYPES)}")
    return dtype


def _autocast(_: str, value: str) -> str:
    dtype = canonical_dtype(value)
    if dtype not in AUTOCAST:
        hint = f"choose from {', '.join(AUTOCAST)}"
        raise ValueError(f"autocast does not support '{value}'", hint)
    return dtype


def _optimizer(_: str, value: str) -> str:
    by_name = {name.casefold(): name for name in ESTIMATED}
    name = by_name.get(value.casefold())
    if name is None and value.casefold() in map(str.casefold, OPTIMIZERS):
        hint = f"choose from {', '.join(ESTIMATED)}"
        raise ValueError(f"the memory of {value} cannot be estimated", hint)
    if name is None:
        raise ValueError(unknown("optimizer", value), _choose(value, ESTIMATED))
    return name


def _number(key: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise ValueError(f"{key} must be a number, got '{value}'", f"write `{key}=0.9`")
    return number


def _boolean(key: str, value: str) -> bool:
    if value not in {"true", "false"}:
        raise ValueError(f"{key} must be true or false, got '{value}'", f"write `{key}=true`")
    return value == "true"


def _choose(value: str, known: tuple[str, ...]) -> str:
    return try_instead(nearest(value, known, ignore_case=True), f"choose from {', '.join(known)}")


_READERS: dict[str, Callable[[str, str], Any]] = {
    "batch": _whole(1, _MOST),
    "batch_dim": _whole(0, _DIMS),
    "dtype": _dtype,
    "autocast": _autocast,
    "optimizer": _optimizer,
}
# Arguments of optimizers that change what these store.
_OPTIONS: dict[str, Callable[[str, str], Any]] = {
    "momentum": _number,
    "amsgrad": _boolean,
    "centered": _boolean,
    "foreach": _boolean,
}
KEYS = (*_READERS, *_OPTIONS)
VALUES: dict[str, tuple[str, ...]] = {  # of the keys whose values have names
    "dtype": DTYPES,
    "autocast": AUTOCAST,
    "optimizer": ESTIMATED,
    **dict.fromkeys(("amsgrad", "centered", "foreach"), ("true", "false")),
}
_EXAMPLE = "write `batch=32,dtype=float16,optimizer=adamw`"
_ALSO = {"amp": "autocast", "batch_size": "batch", "opt": "optimizer"}


def parse_what_if(text: str) -> WhatIf:
    """Return what `--what-if` asks for.

    Raises
    ------
    ValueError : the value is wrong; its arguments are the message and the hint.
    """
    values: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        reader = _READERS.get(key) or _OPTIONS.get(key)
        if reader is None:
            guess = _ALSO.get(key) or nearest(key, KEYS)
            raise ValueError(unknown("key", key), try_instead(guess, _EXAMPLE))
        if not equals or not value:
            raise ValueError(f"'{part}' has no value", _EXAMPLE)
        if key in values:
            raise ValueError(given_twice(key), "remove one of the two")
        values[key] = reader(key, value)
    if not values:
        raise ValueError("the what-if is empty", _EXAMPLE)
    return _what_if(text.strip(), values)


def _what_if(text: str, values: dict[str, Any]) -> WhatIf:
    options = {key: values.pop(key) for key in _OPTIONS if key in values}
    name = values.pop("optimizer", None)
    if name is None and options:
        raise ValueError(f"{next(iter(options))} requires an optimizer", "add `optimizer=sgd`")
    if "batch_dim" in values and "batch" not in values:
        raise ValueError("batch_dim requires batch", "add `batch=32`")
    optimizer = None if name is None else OptimizerSpec(name, options)
    return WhatIf(text, optimizer=optimizer, **values)
