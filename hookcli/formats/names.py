"""The columns of each command with their meanings, and the names by which rows can be sorted.

Importing this loads no renderer. Flags, `explain columns`, completion and docs read these tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """One column: its title, what a cell has, and the unit ("" for text and plain numbers).

    `sorts` tells whether `--sort` accepts the column. `stat` is the path of a statistic of a
    tensor: its key in the statistics that `stats` records, or "finite", then a key.
    """

    title: str
    meaning: str
    unit: str = ""
    sorts: bool = False
    stat: tuple[str, ...] = ()


# The statistics that the action `stats` records of a tensor, by the name of their column.
_STATISTICS: dict[str, ColumnFacts] = {
    "norm": ColumnFacts("Norm", "2-norm", "", True, ("norm",)),
    "mean": ColumnFacts("Mean", "mean", "", True, ("mean",)),
    "std": ColumnFacts("Std", "unbiased standard deviation", "", True, ("std",)),
    "min": ColumnFacts("Min", "smallest value", "", True, ("min",)),
    "max": ColumnFacts("Max", "largest value", "", True, ("max",)),
    "abs_max": ColumnFacts("Abs max", "largest absolute value", "", True, ("abs_max",)),
    "zeros": ColumnFacts("Zeros", "number of zeros", "elements", True, ("zeros",)),
    "nan": ColumnFacts("NaN", "number of NaN", "elements", True, ("nans",)),
    "inf": ColumnFacts("Inf", "number of infinite values", "elements", True, ("infs",)),
    "numel": ColumnFacts("Elements", "number of elements", "elements", True, ("numel",)),
}
_FINITE: dict[str, ColumnFacts] = {
    f"finite_{name}": ColumnFacts(
        f"Finite {name.replace('_', ' ')}",
        f"{facts.meaning} of the finite elements, if others are NaN or infinite",
        facts.unit,
        True,
        ("finite", *facts.stat),
    )
    for name, facts in _STATISTICS.items()
    if name in {"norm", "mean", "std", "min", "max", "abs_max"}
}
COUNTS = frozenset({"zeros", "nan", "inf", "numel"})  # statistics that are integers


def _statistics(
    of: str, *, prefix: str = "", title: str = "", omit: tuple[str, ...] = ()
) -> dict[str, ColumnFacts]:
    """Return the columns with the statistics of a tensor, which `of` describes.

    With a prefix, there are none of the finite elements.
    """
    return {
        f"{prefix}{name}": ColumnFacts(
            f"{title} {facts.title.lower()}" if title else facts.title,
            facts.meaning.replace("finite elements", f"finite elements {of}")
            if name in _FINITE
            else f"{facts.meaning} {of}",
            facts.unit,
            True,
            facts.stat,
        )
        for name, facts in (*_STATISTICS.items(), *_FINITE.items())
        if name not in omit and not (prefix and name in _FINITE)
    }


INSPECT: dict[str, ColumnFacts] = {
    "layer": ColumnFacts("Layer (type)", "name and type of the called module"),
    "name": ColumnFacts("Name", "qualified name of the module", sorts=True),
    "type": ColumnFacts("Type", "class of the module", sorts=True),
    "input": ColumnFacts("Input", "shapes of the input tensors"),
    "output": ColumnFacts("Output", "shapes of the output tensors"),
    "params": ColumnFacts(
        "Param #", "parameters of the module itself, or of all below it if they are hidden",
        "elements", True,
    ),
    "own": ColumnFacts("Own param #", "parameters of the module itself", "elements", True),
    "trainable": ColumnFacts(
        "Trainable #", "parameters at and below the module that require grad", "elements", True
    ),
    "macs": ColumnFacts("Mult-adds", "multiplications with an addition in forward", "", True),
    "flops": ColumnFacts("FLOPs", "floating-point operations in forward", "", True),
    "saved": ColumnFacts("Saved", "memory that the call saves for backward", "bytes", True),
    "peak": ColumnFacts("Forward peak", "highest memory while the call runs", "bytes", True),
    "backward_peak": ColumnFacts(
        "Backward peak", "highest memory while the call's backward runs", "bytes", True
    ),
    "dtype": ColumnFacts("Dtype", "dtypes of the output tensors"),
    "call": ColumnFacts("Call", "number of the call of this module, from 0", "", True),
    "order": ColumnFacts("Order", "number of the call in the run, from 0", "", True),
    "mode": ColumnFacts("Mode", "train or eval, of the module"),
    "place": ColumnFacts("Place", "line of the source that created the module"),
    "aliases": ColumnFacts("Also named", "other names of the module"),
    "notes": ColumnFacts("Notes", "what else is known about the call"),
}  # fmt: skip

DEFAULT_COLUMNS = ("layer", "input", "output", "params", "macs")
MEMORY_COLUMNS = ("saved", "peak", "backward_peak")  # of a run that measured memory

TRACE: dict[str, ColumnFacts] = {
    "seq": ColumnFacts("Seq", "number of the event in the run, from 0", "", True),
    "rank": ColumnFacts("Rank", "rank of the process", "", True),
    "step": ColumnFacts("Step", "number of the step, from 0", "", True),
    "phase": ColumnFacts("Phase", "phase of the run in which the hook fired"),
    "kind": ColumnFacts("Kind", "kind of the hook", sorts=True),
    "target": ColumnFacts("Target", "module, parameter or value that the hook is on", sorts=True),
    "call": ColumnFacts("Call", "number of the call of the module, from 0", "", True),
    "node": ColumnFacts("Node", "name of the autograd node or operator"),
    "values": ColumnFacts("Shapes", "shapes of the tensors that the hook gets"),
    "dtype": ColumnFacts("Dtype", "dtypes of these tensors"),
    **_statistics("of each tensor that the hook gets"),
    "changed": ColumnFacts(
        "Changed", "2-norm of the hook's change; empty if it observes", "", True
    ),
    "change": ColumnFacts(
        "Norm before → after",
        "2-norm of each tensor that the hook changed; also its shape and dtype if they differ",
    ),
    "hook": ColumnFacts("Hook", "index of the hook in the configuration", "", True),
    "notes": ColumnFacts("Notes", "what else is known about the event"),
}

GRADS: dict[str, ColumnFacts] = {
    "name": ColumnFacts("Parameter", "qualified name of the parameter", sorts=True),
    "shape": ColumnFacts("Shape", "shape of the parameter"),
    "dtype": ColumnFacts("Dtype", "dtype of the parameter"),
    "type": ColumnFacts("Type", "class of the module that has the parameter", sorts=True),
    **_statistics("of the parameter's gradient"),
    "weight": ColumnFacts("Weight norm", "2-norm of the parameter", "", True, ("norm",)),
    **_statistics("of the parameter", prefix="weight_", title="Weight", omit=("norm", "numel")),
    "ratio": ColumnFacts("Ratio", "norm of the gradient / norm of the parameter", "", True),
    "status": ColumnFacts("Status", "whether a gradient reached the parameter", sorts=True),
    "bar": ColumnFacts("Norm", "bar of the norm, on a logarithmic scale"),
    "also": ColumnFacts("Also named", "other names of the parameter"),
}  # fmt: skip
GRADS["norm"] = ColumnFacts("Grad norm", GRADS["norm"].meaning, "", True, ("norm",))

# The second table of grads, with one row per call of a layer.
FLOW: dict[str, ColumnFacts] = {
    "layer": ColumnFacts("Layer (type)", "name and type of the called module"),
    "call": ColumnFacts("Call", "number of the call of this module, from 0", "", True),
    "output": ColumnFacts(
        "Output grad", "2-norm of the gradient at the call's output", "", True, ("norm",)
    ),
    "input": ColumnFacts(
        "Input grad", "2-norm of the call's part of the gradient at its input", "", True, ("norm",)
    ),
    **_statistics(
        "of the gradient at the call's output", prefix="output_", title="Output", omit=("norm",)
    ),
    **_statistics(
        "of the call's part of the gradient at its input", prefix="input_", title="Input",
        omit=("norm",),
    ),
    "bar": ColumnFacts("Output grad", "bar of the norm at the output, on a logarithmic scale"),
    "place": ColumnFacts("Place", "line of the source that created the module"),
}  # fmt: skip


# The tables of a training: one row per step, and that of the parameters, with one more column.
STEPS: dict[str, ColumnFacts] = {
    "step": ColumnFacts("Step", "number of the step of the optimizer, from 0", "", True),
    "loss": ColumnFacts("Loss", "sum of the values that backward started from", "", True),
    "loss_bar": ColumnFacts("Loss", "bar of the loss"),
    "grad_norm": ColumnFacts("Grad norm", "2-norm of all gradients of the optimizer", "", True),
    "unclipped_norm": ColumnFacts("Unclipped", "that norm before clip_grad_norm_", "", True),
    "grad_bar": ColumnFacts("Grad norm", "bar of that norm, on a logarithmic scale"),
    "lr": ColumnFacts("LR", "learning rate of the optimizer's first group", "", True),
    "update_ratio": ColumnFacts(
        "Update ratio", "2-norm of the change of all parameters / their 2-norm before", "", True
    ),
    "update_norm": ColumnFacts("Update norm", "2-norm of the change of all parameters", "", True),
    "weight_norm": ColumnFacts("Weight norm", "2-norm of all parameters before it", "", True),
    "scale": ColumnFacts("Scale", "factor of the GradScaler", "", True),
    "forwards": ColumnFacts(
        "Forwards", "calls of the root, or of a part of it alone, since the previous step", "", True
    ),
    "backwards": ColumnFacts("Backwards", "backward passes since the previous step", "", True),
    "missing": ColumnFacts("No grad", "parameters without a gradient", "parameters", True),
    "zero": ColumnFacts("Zero", "parameters whose gradient is all zero", "parameters", True),
    "non_finite": ColumnFacts(
        "Non-finite", "parameters whose gradient has a NaN or infinity", "parameters", True
    ),
    "skipped": ColumnFacts("Skipped", "whether the GradScaler skipped the step"),
}
TRAINED: dict[str, ColumnFacts] = {
    **GRADS,
    "update": ColumnFacts(
        "Update ratio", "norm of the parameter's change in the step / its norm before", "", True
    ),
    "placements": ColumnFacts(
        "Placements", "how the ranks of a mesh have the parameter, such as Shard(0) over tp 2"
    ),
}

# The table of weights without a model.
WEIGHTS: dict[str, ColumnFacts] = {
    "path": ColumnFacts("Tensor", "part of the tensor's name, below the parts before it"),
    "name": ColumnFacts("Name", "whole name of the tensor", sorts=True),
    "shape": ColumnFacts("Shape", "shape of the tensor"),
    "dtype": ColumnFacts(
        "Dtype", "dtype of the tensor, and its layout if that is special", sorts=True
    ),
    "bytes": ColumnFacts("Size", "bytes of the tensor's elements", "bytes", True),
    **_statistics("of the tensor"),
    "file": ColumnFacts("File", "file that has the tensor", sorts=True),
    "part": ColumnFacts("Part", "weights, or optimizer for its state"),
    "shared": ColumnFacts("Shared with", "other tensors with elements in the same storage"),
}
WEIGHTS_COLUMNS = (
    "path",
    "shape",
    "dtype",
    "bytes",
    "norm",
    "mean",
    "std",
    "zeros",
    "nan",
    "inf",
)


def titles(table: Mapping[str, ColumnFacts]) -> dict[str, str]:
    """Return the title of each column of a table."""
    return {name: facts.title for name, facts in table.items()}


COLUMNS = titles(INSPECT)
TRACE_COLUMNS, GRADS_COLUMNS, FLOW_COLUMNS = titles(TRACE), titles(GRADS), titles(FLOW)
SHARED_COLUMNS = frozenset(GRADS) & frozenset(FLOW)

TRAINING = "run"  # the command of `hookcli run`, and of a report with the findings of a training

# The tables of each command, each with what its rows are.
TABLES: dict[str, tuple[tuple[str, Mapping[str, ColumnFacts]], ...]] = {
    "inspect": (("one row per call of a module", INSPECT),),
    "trace": (("one row per event", TRACE),),
    "grads": (("one row per parameter", GRADS), ("one row per call of a module", FLOW)),
    "run": (
        ("one row per step", STEPS),
        ("one row per parameter", TRAINED),
        ("one row per call of a module", FLOW),
    ),
    "weights": (("one row per tensor", WEIGHTS),),
}

# Other names of columns: the keys of the statistics in the JSON.
ALIASES = {"nans": "nan", "infs": "inf"}

_FIRST_SORTS = {
    "trace": ("order", "changed"),
    "grads": ("order", "name", "norm", "ratio", "status", "params"),
    "inspect": ("order", "params", "own", "macs", "flops", *MEMORY_COLUMNS),
    "run": ("order", "step", "loss", "grad_norm", "name", "norm", "ratio", "update", "status"),
    "weights": ("order", "name", "bytes", "numel", "norm"),
}


def columns_of(command: str) -> Mapping[str, str]:
    """Return the columns that a report of this command can show, with their titles."""
    return _columns_of(command if command in TABLES else "inspect")


@cache
def _columns_of(command: str) -> Mapping[str, str]:
    known: dict[str, str] = {}
    for _, table in TABLES[command]:  # the first table has the title of a shared column
        known = {**titles(table), **known}
    return {name: known[name] for _, table in TABLES[command] for name in table}


@cache
def sorts_of(command: str) -> tuple[str, ...]:
    """Return the names by which the rows of a report of this command can be sorted."""
    command = command if command in TABLES else "inspect"
    sortable = (name for _, table in TABLES[command] for name in table if table[name].sorts)
    return tuple(dict.fromkeys((*_FIRST_SORTS[command], *sortable)))


# What counts up, and so comes first if it is small. Other numbers come first if they are large.
POSITIONS = frozenset({"order", "seq", "rank", "step", "call", "hook"})

SORTS = tuple(dict.fromkeys(name for command in TABLES for name in sorts_of(command)))


def common(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that a help page lists: without the statistics of each part of a row."""
    parts = ("finite_", "weight_", "output_", "input_")
    return tuple(name for name in names if not name.startswith(parts))


def statistic(stats: Mapping[str, object] | None, path: tuple[str, ...]) -> object:
    """Return the statistic at a path of `ColumnFacts.stat`; None if it is not known."""
    value: object = stats
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value
