"""The arguments of the Python API, which are checked before anything runs.

An argument that is also a key of a configuration accepts what the key accepts.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from hookcli.errors import RequestError
from hookcli.sentences import must_be

if TYPE_CHECKING:
    from hookcli.comparison.tolerance import Tolerances
    from hookcli.config.parse.scalars import Validator


def read(**given: Any) -> dict[str, Any]:
    """Return the arguments that are not None, each as the key of `run` with its name is read.

    Numbers of NumPy and of torch become those of Python.

    Raises
    ------
    RequestError : an argument has a wrong type or is out of range; its place is its name.
    """
    from hookcli.config.from_python import python_number
    from hookcli.config.parse.nodes import Mark, Node, NodeError, Problems
    from hookcli.config.parse.scalars import Boolean, Integer, Text

    values = {}
    for name, value in given.items():
        if value is None:
            continue
        validator = _validator(name)
        plain = python_number(value)
        hint = f"pass {validator.expected}"
        if not isinstance(plain, str | int | float):
            raise _wrong_type(name, validator.expected, value, hint)
        item = Node(plain, Mark(name, Path(), 0, 0, 0, ""), name)
        try:
            values[name] = validator.read(item, Problems())
        except NodeError as error:
            of_yaml = isinstance(validator, Boolean | Integer | Text)  # "without quotes"
            raise RequestError(
                error.message, place=name, hint=hint if of_yaml else error.hint
            ) from None
    return values


def _validator(name: str) -> Validator:
    from hookcli.config.parse.scalars import Boolean, Choice, Text
    from hookcli.config.sections.run import RUN
    from hookcli.rules.verdict import FailOn

    own: dict[str, Validator] = {
        "command": Choice(("trace", "grads", "inspect")),
        "fail_on": Choice(get_args(FailOn)),
        "grad": Boolean("True or False"),
        "grads": Boolean("True or False"),
        "kinds": Text('a string such as "forward,full_backward"'),
    }
    return own.get(name) or RUN.keys[name].shape


def path(name: str, value: Any) -> str | None:
    """Return a path as a string; None for None.

    Raises
    ------
    RequestError : it is neither a string nor an `os.PathLike`.
    """
    if value is None:
        return None
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str):
        hint = "write the configuration to a file" if name == "config" else f"pass `{name}=FILE`"
        raise _wrong_type(name, "a path", value, hint)
    return text


def loss(value: Any) -> tuple[str | None, Callable[..., Any] | None]:
    """Return the loss as its name, None for "probe", and as a function: at least one is None.

    Raises
    ------
    RequestError : it is neither a string nor a function, or no loss has the name.
    """
    if value is None:
        return None, None
    if isinstance(value, str):
        # With a colon it names a function or an output, which only the run can find.
        text = value if ":" in value else read(loss=value)["loss"]
        return None if text == "probe" else text, None
    if callable(value):
        return None, value
    hint = 'pass `loss="mse"`, `loss="file.py:function"`, or a function of the output'
    raise _wrong_type("loss", "a string or a function", value, hint)


def optimizers(value: Any) -> tuple[Any, ...]:
    """Return one optimizer, several or None as a tuple.

    Raises
    ------
    RequestError : one of them is not an optimizer.
    """
    if value is None:
        return ()
    several = (value,) if hasattr(value, "param_groups") else _items(value)
    for one in several:
        if not hasattr(one, "param_groups"):
            raise _wrong_type(
                "optimizer",
                "an optimizer of torch.optim or a sequence of them",
                one,
                "pass the optimizer of the loop: `optimizer=optimizer`",
            )
    return several


def scaler(value: Any) -> Any:
    """Return a GradScaler or None.

    Raises
    ------
    RequestError : it has no method `get_scale`.
    """
    if value is not None and not callable(getattr(value, "get_scale", None)):
        hint = "pass the scaler of the loop: `scaler=scaler`"
        raise _wrong_type("scaler", "a torch.amp.GradScaler", value, hint)
    return value


def strings(name: str, value: Any) -> tuple[str, ...]:
    """Return a string or several as a tuple.

    Raises
    ------
    RequestError : it is something else.
    """
    several = (value,) if isinstance(value, str) else _items(value)
    for one in several:
        if not isinstance(one, str):
            hint = f"pass a string or a list of strings as `{name}`"
            raise _wrong_type(name, "a string or a sequence of strings", one, hint)
    return several


def tolerances(value: Any) -> Tolerances:
    """Return the tolerances that a number gives for all names, or a mapping for globs.

    Raises
    ------
    RequestError : a tolerance is not a number, or is negative or infinite; a glob is not a string.
    """
    from hookcli.comparison.tolerance import Tolerances
    from hookcli.config.from_python import python_number

    if value is None:
        return Tolerances()
    pairs = value if isinstance(value, Mapping) else {"*": value}
    hint = 'pass `tolerances=1e-3` or `tolerances={"layer4.*": 1e-3}`'
    found = []
    for glob, given in pairs.items():
        if not isinstance(glob, str):
            raise _wrong_type("each key of tolerances", "a string", glob, hint)
        limit = python_number(given)
        if not isinstance(limit, int | float) or not 0 <= limit < math.inf:
            got = repr(limit) if isinstance(limit, str | int | float) else type(given).__name__
            message = f"tolerances must be numbers of at least 0, got {got}"
            raise RequestError(message, place="tolerances", hint=hint)
        found.append((glob, limit))
    return Tolerances(tuple(found))


def _items(value: Any) -> tuple[Any, ...]:
    """Return what an iterable contains; anything else is the only item."""
    try:
        return tuple(value)
    except TypeError:
        return (value,)


def _wrong_type(name: str, expected: str, value: Any, hint: str) -> RequestError:
    message = must_be(name, expected, type(value).__name__)
    return RequestError(message, place=name, hint=hint)
