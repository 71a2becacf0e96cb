"""The output shapes that other tools report for six small models: the table of docs/comparison.md.

    python -m benchmarks.comparison shapes

Tools differ on outputs that are dictionaries or dataclasses, inputs that are passed by keyword,
modules that are called twice, TorchScript and exported programs; each model has one of these. A
cell is the output shape that the tool reports for the layer `asked`, or the error that it raises.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

SOURCE = '''
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Result:
    value: torch.Tensor


class InDictionary(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x):
        return {"first": self.layer(x), "last": x.sum()}


class InDataclass(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x):
        return Result(self.layer(x))


class ByKeyword(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, *, x):
        return self.layer(x)


class Around(nn.Module):
    """Calls the layer that is asked about, so that it is not the root."""

    def __init__(self, inner):
        super().__init__()
        self.asked = inner

    def forward(self, x):
        out = self.asked(x=x)
        if isinstance(out, dict):
            return out["first"]
        return out.value if isinstance(out, Result) else out


class CalledTwice(nn.Module):
    def __init__(self):
        super().__init__()
        self.asked = nn.Linear(4, 4)

    def forward(self, x):
        return self.asked(torch.relu(self.asked(x)))


def in_dictionary(): return Around(InDictionary())
def in_dataclass(): return Around(InDataclass())
def by_keyword(): return Around(ByKeyword())
def called_twice(): return CalledTwice()
def torchscript(): return torch.jit.trace(CalledTwice(), torch.randn(2, 4))
def exported(): return torch.export.export(CalledTwice(), (torch.randn(2, 4),)).module()
'''
CASES = ("in_dictionary", "in_dataclass", "by_keyword", "called_twice", "torchscript", "exported")


def of_hookcli(path: Path, case: str) -> str:
    """Every call of the layer in the JSON of `hookcli inspect`; of saved files where there are."""
    namespace = _built(path)
    import torch

    source, flags = f"{path}:{case}", ["-i", "2x4"]
    if case == "torchscript":
        namespace[case]().save(str(path.with_suffix(".pt")))
        source = str(path.with_suffix(".pt"))
    if case == "exported":
        program = torch.export.export(namespace["CalledTwice"](), (torch.randn(2, 4),))
        torch.export.save(program, str(path.with_suffix(".pt2")))
        source = str(path.with_suffix(".pt2"))
    command = [sys.executable, "-m", "hookcli", "inspect", source, *flags, "-f", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [row for row in json.loads(done.stdout)["layers"] if row["name"] == "asked"]
    return "; ".join(", ".join(str(leaf["shape"]) for leaf in row["outputs"]) for row in rows)


def of_torchinfo(path: Path, case: str) -> str:
    """The rows of the layer in torchinfo's list."""
    import torch
    import torchinfo

    model = _built(path)[case]()
    report = torchinfo.summary(model, input_data=torch.randn(2, 4), verbose=0, mode="eval")
    rows = [layer for layer in report.summary_list if layer.var_name == "asked"]
    return "; ".join(f"{list(layer.output_size)}" for layer in rows)


def of_torchlens(path: Path, case: str) -> str:
    """Whether torchlens traces it: how many operations."""
    import torch
    import torchlens

    trace = torchlens.trace(_built(path)[case](), torch.randn(2, 4))
    return f"{len(trace.layer_list)} operations"


def of_lightning(path: Path, case: str) -> str:
    """The layer's row in Lightning's ModelSummary."""
    import pytorch_lightning as lightning
    import torch

    class Wrapper(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = _built(path)[case]()
            self.example_input_array = torch.randn(2, 4)

        def forward(self, x: torch.Tensor) -> Any:
            return self.model(x)

    summary = lightning.utilities.model_summary.summarize(Wrapper(), max_depth=-1)
    sizes = dict(zip(summary.layer_names, summary.out_sizes, strict=True))
    return str(sizes.get("model.asked"))


def of_torchscan(path: Path, case: str) -> str:
    """The layer's calls in torchscan's report."""
    import torchscan

    report = torchscan.summary(_built(path)[case](), (4,))
    rows = [row for row in report["layers"] if row["path"] == "asked"]
    return "; ".join(", ".join(_shapes(row["output"])) or "no shape" for row in rows)


def _shapes(value: Any) -> Iterator[str]:
    """The shapes anywhere in a nested description of tensors."""
    if isinstance(value, dict) and "shape" in value:
        yield str(value["shape"])
        return
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, (dict, list)):
            yield from _shapes(inner)


TOOLS: dict[str, Callable[[Path, str], str]] = {
    "hookcli": of_hookcli,
    "torchinfo": of_torchinfo,
    "torchlens": of_torchlens,
    "pytorch_lightning": of_lightning,
    "torchscan": of_torchscan,
}


def _built(path: Path) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": path.stem}
    sys.modules.setdefault(path.stem, type(sys)(path.stem))
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    return namespace


def _cell(tool: Callable[[Path, str], str], path: Path, case: str) -> str:
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            return tool(path, case) or "not shown"
        except Exception as error:  # noqa: BLE001  # what the tool raises is the result
            return f"raised {type(error).__name__}"


def main(arguments: list[str]) -> None:
    """Print the table."""
    argparse.ArgumentParser(prog="python -m benchmarks.comparison shapes").parse_args(arguments)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.py"
        path.write_text(SOURCE)
        print("| tool | " + " | ".join(CASES) + " |")
        print("|---|" + "---|" * len(CASES))
        for name, tool in TOOLS.items():
            if find_spec(name) is None:
                print(f"| {name} | not installed |")
                continue
            cells = [_cell(tool, path, case) for case in CASES]
            print(f"| {name} {version(name)} | " + " | ".join(cells) + " |")
