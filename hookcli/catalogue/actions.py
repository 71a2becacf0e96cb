"""Every action, in one table without torch. Validation, `list actions` and `explain` read it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, TypeAlias

Argument: TypeAlias = Literal[
    "none", "figures", "number", "range", "positive", "directory", "file", "function", "comm"
]
# How `explain` and docs/hooks/actions.md describe an argument of each form.
ARGUMENTS: dict[Argument, str] = {
    "none": "nothing",
    "number": "a number",
    "figures": "norm or histogram",
    "range": "[low, high]",
    "positive": "a number above 0",
    "directory": "a directory",
    "file": "a .safetensors or .pt file",
    "function": "a function: file.py:name, package.module:name or torch.ops.namespace.name",
    "comm": "the name of a communication hook, or {name: …} with its state",
}


class Reads(Enum):
    """What an action reads in addition to what every firing records; less of it is faster."""

    NOTHING = "nothing"
    FIGURES = "statistics of its tensors"
    EVENT = "the event"


@dataclass(frozen=True, slots=True)
class ActionFacts:
    """What users read about an action. `hookcli list actions -f json` prints this: a promise.

    `argument` is the form of the value after its name in YAML. `changes` tells whether it returns
    a new value: then it works only with kinds whose hooks may return one.
    """

    name: str
    does: str
    argument: Argument
    needs_values: bool
    changes: bool
    example: str
    optional: bool = False  # the argument may be omitted
    parts: bool = False  # it can change a part of each tensor alone

    def facts(self) -> dict[str, Any]:
        """These fields by name."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(ActionFacts)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Action(ActionFacts):
    """One action.

    Attributes
    ----------
    build : the function that makes it from (argument, tools), "file:function" in hookcli/actions;
        None if the code that attaches the kind performs it.
    reads : what it reads of a firing.
    may_look : whether it may also leave the value unchanged; then it works with every kind.
    foreign : whether it runs the user's own code.
    averages : whether it averages a bucket of gradients; then it works with kinds that do.
    asks : whether it asks the user at a terminal.
    reads_inputs : whether it reads the inputs of operators, as they were before.
    clips : whether it only changes values beyond its limit.

    """

    build: str | None
    reads: Reads = Reads.EVENT
    may_look: bool = False
    foreign: bool = False
    averages: bool = False
    asks: bool = False
    reads_inputs: bool = False
    clips: bool = False


CATALOGUE: dict[str, Action] = {
    action.name: action
    for action in (
        Action(
            name="record",
            does="records shapes and dtypes",
            argument="none",
            needs_values=False,
            changes=False,
            example="record",
            build="observe:record",
            reads=Reads.NOTHING,
        ),
        Action(
            name="stats",
            does="records norm, mean, std, min, max and the counts of zeros, NaN and Inf; `norm` "
            "alone is faster, `histogram` adds counts by value",
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
            does="prints the values and their statistics to stderr",
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
            does="multiplies floating-point values by a number",
            argument="number",
            needs_values=False,
            changes=True,
            example="scale: 0.5",
            build="change:scale",
            parts=True,
        ),
        Action(
            name="add_noise",
            does="adds seeded Gaussian noise with this standard deviation",
            argument="positive",
            needs_values=False,
            changes=True,
            example="add_noise: 1e-3",
            build="change:add_noise",
            parts=True,
        ),
        Action(
            name="clamp",
            does="limits each value to [low, high]",
            argument="range",
            needs_values=False,
            changes=True,
            example="clamp: [-1, 1]",
            build="change:clamp",
            parts=True,
            clips=True,
        ),
        Action(
            name="clip_norm",
            does="scales each tensor down to at most this 2-norm",
            argument="positive",
            needs_values=False,
            changes=True,
            example="clip_norm: 1.0",
            build="change:clip_norm",
            clips=True,
        ),
        Action(
            name="zero",
            does="replaces floating-point values with zeros",
            argument="none",
            needs_values=False,
            changes=True,
            example="zero",
            build="change:zero",
            parts=True,
        ),
        Action(
            name="negate",
            does="changes the sign of floating-point values",
            argument="none",
            needs_values=False,
            changes=True,
            example="negate",
            build="change:negate",
            parts=True,
        ),
        Action(
            name="replace",
            does="replaces the value with a saved tensor",
            argument="file",
            needs_values=True,
            changes=True,
            example="replace: mask.safetensors",
            build="change:replace",
            parts=True,
        ),
        Action(
            name="assert_finite",
            does="stops the run at the first NaN or Inf",
            argument="none",
            needs_values=True,
            changes=False,
            example="assert_finite",
            reads_inputs=True,
            build="observe:assert_finite",
        ),
        Action(
            name="breakpoint",
            does="opens the debugger at the event",
            argument="none",
            needs_values=True,
            changes=False,
            example="breakpoint",
            build="debugger:breakpoint_",
            asks=True,
        ),
        Action(
            name="comm",
            does="averages a bucket of gradients with one of torch's communication hooks",
            argument="comm",
            needs_values=True,
            changes=True,
            example="comm: fp16_compress",
            build=None,
            averages=True,
        ),
        Action(
            name="call",
            does="calls a function: your own, or one of a package or library",
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
