"""What each tool reports for a live model: parameters, calls with shapes, mult-adds.

Each function calls its tool as the tool's documentation does, with its defaults.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from torch import nn

from benchmarks.timing import HOOKCLI, ROOT

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Shown:
    """A call. `name` is None if the tool reports only classes; shapes are in order."""

    name: str | None
    type: str
    index: int | None
    inputs: list[Shape]
    outputs: list[Shape]


@dataclass(frozen=True)
class Said:
    """The totals and calls that a tool reports. None: the tool does not report it."""

    parameters: int | None
    trainable: int | None
    calls: list[Shown] | None
    macs: int | None


def _rows(layers: Iterable[dict[str, Any]]) -> list[Shown]:
    def shapes(leaves: list[dict[str, Any]]) -> list[Shape]:
        return [tuple(leaf["shape"]) for leaf in leaves]

    return [
        Shown(row["name"], row["type"], row["call"], shapes(row["inputs"]), shapes(row["outputs"]))
        for row in layers
    ]


def _report(report: dict[str, Any]) -> Said:
    model, totals = report["model"], report["totals"]
    sizes = (totals["parameters"], model["trainable_parameters"])
    return Said(*sizes, _rows(report["layers"]), totals["macs"])


def by_command(model: nn.Module, batch: Any, sample: str) -> Said:
    """`hookcli inspect`, which builds its own model in a separate process."""
    command = [HOOKCLI, "inspect", f"sample_models/{sample}.py", "-f", "json"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return _report(json.loads(done.stdout))


def by_hookcli(model: nn.Module, batch: Any, sample: str) -> Said:
    import hookcli
    from hookcli.report.encode import to_json

    return _report(json.loads(to_json(hookcli.inspect(model, batch))))


def by_torchinfo(model: nn.Module, batch: Any, sample: str) -> Said:
    import torchinfo

    columns = ("input_size", "output_size", "num_params", "mult_adds")
    said = torchinfo.summary(model, input_data=batch, depth=99, col_names=columns, verbose=0)
    calls = [
        Shown(None, row.class_name, None, _sizes(row.input_size), _sizes(row.output_size))
        for row in said.summary_list
        if row.executed
    ]
    return Said(said.total_params, said.trainable_params, calls, said.total_mult_adds)


def _sizes(size: Any) -> list[Shape]:
    """torchinfo's size: a list of numbers, or lists of them."""
    if not size:
        return []
    if all(isinstance(one, int) for one in size):
        return [tuple(size)]
    return [shape for one in size for shape in _sizes(one)]


def by_torchlens(model: nn.Module, batch: Any, sample: str) -> Said:
    import torchlens

    args, kwargs = (None, batch) if isinstance(batch, dict) else (list(batch), None)
    trace = torchlens.trace(model, args, kwargs)
    types = {module.address: module.class_name for module in trace.modules}
    given = [tuple(trace[layer].shape) for layer in trace.input_layers]
    calls = []
    for call in trace.module_calls:
        address, _, number = call.call_label.rpartition(":")
        inputs = _shapes(call.forward_args_summary) + _shapes(call.forward_kwargs_summary)
        outputs = [tuple(shape) for shape in call.out_shapes]
        if address == "self":
            calls.append(Shown("", types[address], int(number) - 1, given, outputs))
        else:
            calls.append(Shown(address, types[address], int(number) - 1, inputs, outputs))
    return Said(trace.num_params, trace.num_params_trainable, calls, int(trace.total_macs_forward))


def _shapes(summary: str | None) -> list[Shape]:
    """The shapes in torchlens's summary of arguments, which is a string, in order."""
    found = re.findall(r"shape=\(([\d, ]*)\)", summary or "")
    return [tuple(int(size) for size in shape.split(",") if size.strip()) for shape in found]


def by_flop_counter(model: nn.Module, batch: Any, sample: str) -> Said:
    """torch's own FlopCounterMode around a forward that the user runs."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        model(**batch) if isinstance(batch, dict) else model(*batch)
    return Said(None, None, None, counter.get_total_flops() // 2)


LOOKS: dict[str, Callable[[nn.Module, Any, str], Said]] = {
    "hookcli inspect": by_command,
    "hookcli.inspect": by_hookcli,
    "torchinfo": by_torchinfo,
    "torchlens": by_torchlens,
    "FlopCounterMode": by_flop_counter,
}
