"""`run`: how to run the model. Its keys are the names of the flags."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hookcli.config.parse import paths
from hookcli.config.parse.code_refs import Code
from hookcli.config.parse.containers import ByType, Fields, Key, ListOf
from hookcli.config.parse.nodes import Node, NodeError, Problems
from hookcli.config.parse.scalars import (
    Boolean,
    Choice,
    Data,
    Integer,
    Named,
    Number,
    Refined,
    Schema,
    Text,
    Validator,
    reject,
)
from hookcli.config.sections.distributed import DISTRIBUTED
from hookcli.config.sections.model import INPUT, INPUTS
from hookcli.sentences import unknown
from hookcli.spec.hooks import OPTIMIZERS, BackwardSpec, OptimizerSpec, PackagePattern
from hookcli.spec.inputs import (
    TARGET,
    InputSpec,
    TensorSpec,
)
from hookcli.spec.losses import LOSS_HINT, OWN_LOSSES, nearest_loss, parse_named_loss
from hookcli.spec.request import (
    Interpreter,
)
from hookcli.spec.selectors import match_of
from hookcli.spec.settings import SETTINGS, Form, Setting
from hookcli.spec.what_if import WhatIf, parse_what_if
from hookcli.text import try_instead

_OUTPUT = re.compile(r"output:.+", re.DOTALL)


def _parsed(setting: Setting) -> Callable[[Node, str], Any]:
    """Return the check of a string that the parser of a setting reads."""

    def check(item: Node, text: str) -> Any:
        try:
            return setting.parse(text)
        except ValueError as error:
            raise NodeError(item, error.args[0], error.args[1]) from None

    return check


def _loss(item: Node, text: str) -> str:
    try:
        if text in OWN_LOSSES or parse_named_loss(text) is not None:
            return text
    except ValueError as error:
        raise NodeError(item, error.args[0], error.args[1]) from None
    if _OUTPUT.fullmatch(text):
        path = text.removeprefix("output:")
        try:
            match_of(f":output{path if path.startswith(('[', '.')) else f'.{path}'}")
        except ValueError as error:
            raise NodeError(item, error.args[0], "write `output:loss` or `output:[0]`") from None
        return text
    if ".py:" in text:
        return paths.code(item, text)
    raise NodeError(item, unknown("loss", text), try_instead(nearest_loss(text), LOSS_HINT))


_OPTIMIZER_NAME = Named(
    "optimizer", dict.fromkeys(OPTIMIZERS, ""), f"choose from {', '.join(OPTIMIZERS)}"
)
_OPTIMIZER = ByType(
    {
        str: _OPTIMIZER_NAME,
        dict: Fields(
            {"name": Key(_OPTIMIZER_NAME, "an optimizer of torch.optim; default SGD")},
            rest=Data(),
        ),
    },
    expected="a name or a mapping {name, lr, …}",
    hint="write `optimizer: {name: SGD, lr: 1e-1}`",
)


def _optimizer(_: Node, optimizer: str | dict[str, Any]) -> OptimizerSpec:
    if isinstance(optimizer, str):
        return OptimizerSpec(optimizer, {})
    return OptimizerSpec(
        optimizer.get("name", "SGD"),
        {key: value for key, value in optimizer.items() if key != "name"},
    )


_GRADIENT_HINT = "write `gradient: [1.0, 0.0]` or `gradient: 2x10:float32:ones`"


class _Gradient:
    """A number, a nested list of numbers, or a tensor to create, as in `inputs`."""

    expected = "a number, a nested list of numbers, or a shape such as 2x10:float32:ones"

    def read(self, item: Node, problems: Problems) -> Any:
        """Return the plain data."""
        if not isinstance(item.value, str):
            return self._numbers(item, problems)
        input_spec = INPUT.read(item, problems)
        if input_spec.name is not None or not isinstance(input_spec.spec, TensorSpec):
            raise NodeError(item, f"'{item.value}' is not the shape of a tensor", _GRADIENT_HINT)
        return item.value

    def _numbers(self, item: Node, problems: Problems) -> Any:
        if isinstance(item.value, list):
            return [self._numbers(child, problems) for child in item.value]
        if isinstance(item.value, bool) or not isinstance(item.value, int | float):
            reject(item, self.expected, _GRADIENT_HINT)
        return Number().read(item, problems)

    def schema(self) -> Schema:
        """JSON Schema. It does not describe the items of lists."""
        return {"type": ["number", "array", "string"]}


def _pattern(item: Node, text: str) -> str:
    try:
        match_of(text)
    except ValueError as error:
        raise NodeError(item, error.args[0], error.args[1]) from None
    return text


BACKWARD = Fields(
    {
        "gradient": Key(_Gradient(), "the gradient that backward starts from, instead of 1"),
        "times": Key(Integer(1), "how often backward is called"),
        "retain_graph": Key(
            Boolean(), "keep the graph; required for all calls of backward except the last"
        ),
        "create_graph": Key(Boolean(), "create a graph of the gradients, for double backward"),
        "inputs": Key(
            ListOf(Refined(Text(), _pattern), one=True, least=1),
            "call torch.autograd.grad with respect to these: globs of parameters, or values as "
            "PATTERN:output",
        ),
    }
)


def _modules(item: Node, text: str) -> tuple[str, str]:
    whole = all(part == "**" or "**" not in part for part in text.split("."))
    if not re.fullmatch(r"[\w*]+(?:\.[\w*]+)*", text) or not whole:
        raise NodeError(
            item,
            f"'{text}' is not a glob of Python modules",
            "write `mylib`, `mylib.*` for its modules, or `mylib.**` for all modules below it",
        )
    return text, item.place


def _package(
    _: Node, patterns_by_action: dict[str, tuple[tuple[str, str], ...]]
) -> tuple[PackagePattern, ...]:
    return tuple(
        PackagePattern(action, pattern, place)  # type: ignore[arg-type]  # a key of PACKAGE
        for action, patterns in patterns_by_action.items()
        for pattern, place in patterns
    )


_MODULES = ListOf(Refined(Text("a glob of Python modules"), _modules), one=True, least=1)
PACKAGE = Fields(
    {
        "extern": Key(
            _MODULES, "modules that are not stored in the archive, because they are installed"
        ),
        "intern": Key(_MODULES, "modules whose source is stored in the archive"),
        "mock": Key(_MODULES, "modules that are replaced with mocks that raise when they are used"),
    },
    hint="write `package: {intern: [mylib.**], mock: [plots]}`",
)


def _python(item: Node, text: str) -> Interpreter:
    """Return an interpreter; a name without a separator is a command unless it exists here."""
    home = os.path.expanduser(text)  # noqa: PTH111  # Path.expanduser raises for an unknown user
    path = Path(paths.absolute(item, home))
    here = os.sep in text or os.path.isdir(path)  # noqa: PTH112  # never raises
    code = Code(str(path) if here else text, item, "a program")
    return Interpreter(code, "run.python", item.place)


def _what_if(item: Node, text: str) -> WhatIf:
    try:
        return replace(parse_what_if(text), origin=item.place)
    except ValueError as error:
        raise NodeError(item, error.args[0], error.args[1]) from None


def _target(_: Node, parts: tuple[InputSpec, ...]) -> tuple[InputSpec, ...]:
    return tuple(replace(part, flag=TARGET) for part in parts)


TARGETS = Refined(INPUTS, _target)


def _made(make: Any) -> Any:
    return lambda _, fields: make(**fields)


# The checks of strings whose meaning depends on where the configuration is.
_CHECKS: dict[str, Callable[[Node, str], Any]] = {
    "loss": _loss,
    "python": _python,
    "what_if": _what_if,
}


def _shape(setting: Setting) -> Validator:
    """Return the validator of a setting's key."""
    check = _CHECKS.get(setting.name) or _parsed(setting)
    form = setting.form
    if form is Form.SWITCH:
        return Boolean()
    if form is Form.CHOICE:
        return Choice(setting.words)
    if form is Form.COUNT:
        return Integer(setting.least)
    if form is Form.NUMBER:
        return Number(0, setting.most)
    text = Refined(Text(setting.expected), check)
    return ListOf(text, one=True, least=1) if form is Form.TEXTS else text


# The keys that are not settings, by the setting that they follow.
_OTHERS: dict[str, dict[str, Key]] = {
    "loss": {
        "targets": Key(
            TARGETS, "the target of the loss, as `inputs`: one, a list or a mapping of parts"
        ),
    },
    "steps": {
        "optimizer": Key(
            Refined(_OPTIMIZER, _optimizer), "an optimizer of torch.optim, with its arguments"
        ),
        "backward": Key(Refined(BACKWARD, _made(BackwardSpec)), "how to run backward"),
    },
    "what_if": {
        "package": Key(
            Refined(PACKAGE, _package),
            "what torch.package does with Python modules; the first matching pattern decides",
        ),
        "distributed": Key(DISTRIBUTED, "several ranks that run together"),
    },
}


def _keys() -> dict[str, Key]:
    keys: dict[str, Key] = {}
    for setting in SETTINGS.values():
        keys[setting.name] = Key(_shape(setting), setting.key)
        keys |= _OTHERS.get(setting.name, {})
    return keys


RUN = Fields(
    _keys(),
    hints={
        "grad": "try `no_grad`",
        "target": "try `targets`",
        "labels": "try `targets`",
        "lr": "write `optimizer: {name: SGD, lr: 1e-1}`",
        "inputs": "write `inputs` next to `run`, or `backward: {inputs: …}` for autograd.grad",
    },
)  # fmt: skip


def run_of(section: dict[str, Any]) -> dict[str, Any]:
    """Return the section with the names and units of RunSpec's fields, such as bytes."""
    run = {}
    for name, value in section.items():
        setting = SETTINGS.get(name)
        if setting is None:
            run[name] = value
        else:
            converted = value if setting.convert is None else setting.convert(value)
            run[setting.field or name] = converted
    return run
