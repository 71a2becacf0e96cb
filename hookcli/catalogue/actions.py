"""Every action: one table, torch-free. Validation, `list actions` and `explain` read it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, TypeAlias

Argument: TypeAlias = Literal[
    "none", "figures", "number", "range", "positive", "directory", "file", "function", "comm"
]
# What an argument of each form is, for `explain` and docs/hooks/reference.md.
ARGUMENTS: dict[Argument, str] = {
    "none": "nothing",
    "number": "a number",
    "figures": "norm",
    "range": "[low, high]",
    "positive": "a number above 0",
    "directory": "a directory",
    "file": "a .safetensors or .pt file",
    "function": "a function: file.py:name, package.module:name or torch.ops.namespace.name",
    "comm": "the name of a communication hook, or {name: …} with its state",
}


class Reads(Enum):
    """What an action needs of a firing beside what is noted of each: there are shorter ways."""

    NOTHING = "nothing"
    FIGURES = "figures of its tensors"
    EVENT = "the event"


@dataclass(frozen=True, slots=True)
class ActionFacts:
    """What users are told of an action, and `hookcli list actions -f json` prints: a promise.

    `argument` is the form of what follows its name in YAML. `changes` says whether it gives a new
    value: then it stands only on kinds that may return one.
    """

    name: str
    does: str
    argument: Argument
    needs_values: bool
    changes: bool
    example: str
    optional: bool = False  # the argument may be left out

    def facts(self) -> dict[str, Any]:
        """These fields by name."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(ActionFacts)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Action(ActionFacts):
    """One action.

    Attributes
    ----------
    build : what makes it, "file:function" in hookcli/actions, from (argument, tools); None for one
        that is done by what attaches the kind.
    reads : what it needs of a firing.
    may_look : it may also leave the value as it is, and stands on every kind.
    foreign : it runs the user's own code.
    averages : it averages a bucket of gradients, and stands on kinds that do.
    asks : it asks the user at a terminal.

    """

    build: str | None
    reads: Reads = Reads.EVENT
    may_look: bool = False
    foreign: bool = False
    averages: bool = False
    asks: bool = False


CATALOGUE: dict[str, Action] = {
    action.name: action
    for action in (
        Action(
            name="record",
            does="notes shapes and dtypes",
            argument="none",
            needs_values=False,
            changes=False,
            example="record",
            build="observe:record",
            reads=Reads.NOTHING,
        ),
        Action(
            name="stats",
            does="notes norm, mean, std, min, max, zeros, NaN and Inf counts; `norm` alone is "
            "faster",
            argument="figures",
            needs_values=True,
            changes=False,
            example="stats: norm",
            optional=True,
            build="observe:stats",
            reads=Reads.FIGURES,
        ),
        Action(
            name="print",
            does="prints the values with their statistics to stderr",
            argument="none",
            needs_values=True,
            changes=False,
            example="print",
            build="observe:print_",
        ),
        Action(
            name="save",
            does="writes the values to safetensors files, named in firing order",
            argument="directory",
            needs_values=True,
            changes=False,
            example="save: taps/",
            optional=True,
            build="observe:save",
        ),
        Action(
            name="scale",
            does="multiplies floating values by a number",
            argument="number",
            needs_values=False,
            changes=True,
            example="scale: 0.5",
            build="change:scale",
        ),
        Action(
            name="add_noise",
            does="adds seeded Gaussian noise of this standard deviation",
            argument="positive",
            needs_values=False,
            changes=True,
            example="add_noise: 1e-3",
            build="change:add_noise",
        ),
        Action(
            name="clamp",
            does="limits each value to [low, high]",
            argument="range",
            needs_values=False,
            changes=True,
            example="clamp: [-1, 1]",
            build="change:clamp",
        ),
        Action(
            name="clip_norm",
            does="scales each tensor down to at most this 2-norm",
            argument="positive",
            needs_values=False,
            changes=True,
            example="clip_norm: 1.0",
            build="change:clip_norm",
        ),
        Action(
            name="zero",
            does="replaces floating values by zeros",
            argument="none",
            needs_values=False,
            changes=True,
            example="zero",
            build="change:zero",
        ),
        Action(
            name="negate",
            does="changes the sign of floating values",
            argument="none",
            needs_values=False,
            changes=True,
            example="negate",
            build="change:negate",
        ),
        Action(
            name="replace",
            does="replaces the value by a saved tensor",
            argument="file",
            needs_values=True,
            changes=True,
            example="replace: mask.safetensors",
            build="change:replace",
        ),
        Action(
            name="assert_finite",
            does="ends the run at the first NaN or Inf",
            argument="none",
            needs_values=True,
            changes=False,
            example="assert_finite",
            build="observe:assert_finite",
        ),
        Action(
            name="breakpoint",
            does="opens the debugger with the event at hand",
            argument="none",
            needs_values=True,
            changes=False,
            example="breakpoint",
            build="debugger:breakpoint_",
            asks=True,
        ),
        Action(
            name="comm",
            does="averages a bucket with one of torch's communication hooks",
            argument="comm",
            needs_values=True,
            changes=True,
            example="comm: fp16_compress",
            build=None,
            averages=True,
        ),
        Action(
            name="call",
            does="calls a function: yours, of a package, or of a library",
            argument="function",
            needs_values=True,
            changes=True,
            example="call: my_hooks.py:halve",
            build="call:call",
            may_look=True,
            foreign=True,
        ),
    )
}
