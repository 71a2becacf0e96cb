"""Losses of the user's: functions, modules and other callables, and what is passed to them.

The first parameter gets the output. Of the others, one whose name says so gets the target or the
batch. Any other required one gets the target if there is one, else the batch. Parameters with a
default are left alone, unless their name says what they are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import torch
from torch import nn

from hookcli.engine.losses.criterion import Criterion, Notes, checked, depends_on
from hookcli.engine.losses.of_output import graded_or_refuse
from hookcli.errors import ModelError, RequestError
from hookcli.models import places
from hookcli.models.batch import Batch
from hookcli.models.failures import failure_of

Role: TypeAlias = Literal["output", "target", "batch"]

TARGET_NAMES = frozenset((
    "target", "targets", "tgt", "label", "labels", "y", "ys", "y_true", "ytrue", "true", "truth",
    "gt", "ground_truth", "expected", "gold",
))  # fmt: skip
BATCH_NAMES = frozenset((
    "batch", "input", "inputs", "x", "xs", "data", "sample", "samples", "example", "examples",
    "features",
))  # fmt: skip
OUTPUT_NAMES = frozenset((
    "output", "outputs", "out", "pred", "preds", "prediction", "predictions", "predicted", "logits",
    "y_pred", "y_hat", "yhat", "scores", "result", "results",
))  # fmt: skip
_ENDS: tuple[tuple[Role, tuple[str, ...]], ...] = (
    ("target", ("_target", "_targets", "_label", "_labels", "_true")),
    ("batch", ("_batch",)),
)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_REQUIRED = inspect.Parameter.empty


@dataclass(slots=True)
class Roles:
    """What each argument of a loss is. Those by keyword are by the parameter's name."""

    positional: list[Role] = field(default_factory=list)
    keyword: dict[str, Role] = field(default_factory=dict)

    @property
    def used(self) -> set[Role]:
        """The roles that are passed."""
        return {*self.positional, *self.keyword.values()}


def role_of(name: str) -> Role | None:
    """Return what the name of a parameter says that it is; None if it does not say."""
    word = name.lower().strip("_")
    if word in TARGET_NAMES:
        return "target"
    if word in BATCH_NAMES:
        return "batch"
    return next((role for role, ends in _ENDS if word.endswith(ends)), None)


def roles_of(parameters: list[inspect.Parameter], *, has_target: bool) -> Roles:
    """Return what a loss with these parameters gets.

    Raises
    ------
    ValueError : it requires more than the output, the target and the batch.
    """
    roles = Roles()
    plain = [p for p in parameters if p.kind in _POSITIONAL]
    names: dict[str, Role | None] = {p.name: role_of(p.name) for p in plain[1:]}
    if plain:
        names[plain[0].name] = _first(plain)
    gap = False  # a parameter was left out: those after it need their names
    for p in plain:
        role = _choose(names[p.name], p, roles, has_target=has_target)
        if role is None:
            gap = True
        elif gap:
            roles.keyword[p.name] = role
        else:
            roles.positional.append(role)
    if any(p.kind is p.VAR_POSITIONAL for p in parameters) and not gap:
        rest: tuple[Role, ...] = ("output", "target") if has_target else ("output",)
        roles.positional += [role for role in rest if role not in roles.used]
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY:
            role = _choose(role_of(p.name), p, roles, has_target=has_target)
            if role is not None:
                roles.keyword[p.name] = role
    if "output" not in roles.used:
        raise ValueError
    return roles


def _first(plain: list[inspect.Parameter]) -> Role:
    """Return the role of the first parameter: the output, unless the second one is named so."""
    swapped = len(plain) > 1 and plain[1].name.lower().strip("_") in OUTPUT_NAMES
    return (role_of(plain[0].name) or "output") if swapped else "output"


def _choose(
    named: Role | None, parameter: inspect.Parameter, roles: Roles, *, has_target: bool
) -> Role | None:
    """Return the role of a parameter, or None if it keeps its default."""
    required = parameter.default is _REQUIRED
    free: list[Role] = [
        role
        for role in (("output", "target", "batch") if has_target else ("output", "batch"))
        if role not in roles.used
    ]
    if named is not None and named not in roles.used and (required or named in free):
        return named
    if not required:
        return None
    if not free:
        raise ValueError
    return free[0]


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """Return the parameters of a function, or None if Python does not know them."""
    called = function.forward if isinstance(function, nn.Module) else function
    try:
        return list(inspect.signature(called).parameters.values())
    except (TypeError, ValueError):
        return None


def place_of(function: Any) -> str | None:
    """Return the line of the user's function, or of the class of an object."""
    while hasattr(function, "func") and not inspect.isfunction(function):  # a partial
        function = function.func
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        return places.of_class(type(function))
    if not places.is_user(code.co_filename):
        return None
    return f"{places.show(code.co_filename)}:{code.co_firstlineno}"


def name_of(function: Any) -> str:
    """Return the name of a loss that was passed as an object."""
    name = getattr(function, "__name__", None) or getattr(
        getattr(function, "func", None), "__name__", None
    )
    return name if isinstance(name, str) else type(function).__name__


class FunctionCriterion(Criterion):
    """A function of the user's. `name` is as reports show it, `flag` its place for errors."""

    def __init__(self, function: Callable[..., Any], name: str, flag: str, notes: Notes) -> None:
        super().__init__(name)
        self._function = _instance(function, name, flag)
        self.place = place_of(self._function)
        self._where = self.place or flag
        self._parameters = _parameters(self._function)
        self._notes = notes

    def loss(self, output: Any, batch: Batch) -> torch.Tensor:
        """Return the loss that the function returns.

        Raises
        ------
        RequestError : it has other parameters, or needs a target and there is none.
        ModelError : backward cannot start from what it returned.
        """
        graded = graded_or_refuse(output)
        roles = self._roles(batch)
        values: dict[Role, Any] = {"output": output, "batch": batch.as_loaded()}
        if batch.target is not None:
            values["target"] = batch.target.value
        if isinstance(self._function, nn.Module):
            self._function.to(graded[0][1].device)
        returned = self._function(
            *(values[role] for role in roles.positional),
            **{name: values[role] for name, role in roles.keyword.items()},
        )
        loss = checked(returned, self.name, self._where)
        if not depends_on(loss, output):
            self._notes(f"the loss {self.name} does not depend on the output of the model")
        return loss

    def _roles(self, batch: Batch) -> Roles:
        has_target = batch.target is not None
        if self._parameters is None:
            return Roles(["output", "target"] if has_target else ["output"])
        try:
            roles = roles_of(self._parameters, has_target=has_target)
        except ValueError:
            listed = ", ".join(str(p) for p in self._parameters)
            raise RequestError(
                f"{self.name} must have the parameters (output), (output, target) or "
                f"(output, batch), got ({listed})",
                place=self._where,
                hint="give the other parameters a default, or use `functools.partial`",
            ) from None
        if "target" in roles.used and not has_target:
            raise RequestError(
                f"{self.name} requires a target, and none was given",
                place=self._where,
                hint="pass `--target SPEC`, such as `--target 2:int64:0..10`, or a loader: "
                "`--input data.py:loader`",
            )
        return roles


def _instance(function: Callable[..., Any], name: str, flag: str) -> Callable[..., Any]:
    """Return the function; for a class of callable objects an instance, made without arguments."""
    called = isinstance(function, type) and any("__call__" in vars(k) for k in function.__mro__)
    if not called:
        return function
    try:
        made = function()
    except Exception as error:  # noqa: BLE001  # the user's constructor may raise anything
        failure = failure_of(error, "loss")
        raise ModelError(
            f"{name}() failed: {failure.type}: {failure.message}",
            place=failure.place or flag,
            hint="make an instance at module level, such as `focal = Focal(2.0)`, and name that",
            details=failure.details,
        ) from None
    return made  # type: ignore[no-any-return]  # its class has __call__
