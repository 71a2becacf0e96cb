"""Every action: one table, torch-free. Validation, `list actions` and `explain` read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Argument: TypeAlias = Literal[
    "none", "figures", "number", "range", "positive", "directory", "file", "function", "comm"
]


@dataclass(frozen=True, slots=True)
class Action:
    """One action. `argument` is the form of what follows its name in YAML.

    `changes` says whether it gives a new value: then it stands only on kinds that may return one.
    """

    name: str
    does: str
    argument: Argument
    needs_values: bool
    changes: bool
    example: str
    optional: bool = False  # the argument may be left out


CATALOGUE: dict[str, Action] = {
    action.name: action
    for action in (
        Action("record", "notes shapes and dtypes", "none", False, False, "record"),
        Action(
            "stats",
            "notes norm, mean, std, min, max, zeros, NaN and Inf counts; `norm` alone is faster",
            "figures",
            True,
            False,
            "stats: norm",
            True,
        ),
        Action(
            "print",
            "prints the values with their statistics to stderr",
            "none",
            True,
            False,
            "print",
        ),
        Action(
            "save",
            "writes the values to safetensors files, named in firing order",
            "directory",
            True,
            False,
            "save: taps/",
            True,
        ),
        Action(
            "scale", "multiplies floating values by a number", "number", False, True, "scale: 0.5"
        ),
        Action(
            "add_noise",
            "adds seeded Gaussian noise of this standard deviation",
            "positive",
            False,
            True,
            "add_noise: 1e-3",
        ),
        Action("clamp", "limits each value to [low, high]", "range", False, True, "clamp: [-1, 1]"),
        Action(
            "clip_norm",
            "scales each tensor down to at most this 2-norm",
            "positive",
            False,
            True,
            "clip_norm: 1.0",
        ),
        Action("zero", "replaces floating values by zeros", "none", False, True, "zero"),
        Action("negate", "changes the sign of floating values", "none", False, True, "negate"),
        Action(
            "replace",
            "replaces the value by a saved tensor",
            "file",
            True,
            True,
            "replace: mask.safetensors",
        ),
        Action(
            "assert_finite",
            "ends the run at the first NaN or Inf",
            "none",
            True,
            False,
            "assert_finite",
        ),
        Action(
            "breakpoint",
            "opens the debugger with the event at hand",
            "none",
            True,
            False,
            "breakpoint",
        ),
        Action(
            "comm",
            "averages a bucket with one of torch's communication hooks",
            "comm",
            True,
            True,
            "comm: fp16_compress",
        ),
        Action(
            "call",
            "calls a function: yours, of a package, or of a library",
            "function",
            True,
            True,
            "call: my_hooks.py:halve",
        ),
    )
}
