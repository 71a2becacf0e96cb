"""`run`: how to run the model. The keys are those of the flags."""

from __future__ import annotations

import re
from typing import Any, get_args

from hookcli.config.parse import paths
from hookcli.config.parse.containers import ByType, Fields, Key, ListOf
from hookcli.config.parse.nodes import Node, NodeError, Problems, suggestion
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
    misfit,
)
from hookcli.config.sections.distributed import DISTRIBUTED
from hookcli.config.sections.model import INPUT
from hookcli.spec.hooks import BackwardSpec, OptimizerSpec, PackagePattern
from hookcli.spec.inputs import FLOATING, LARGEST, TensorSpec, canonical_dtype
from hookcli.spec.request import (
    DEVICES,
    LOSS_HINT,
    LOSSES,
    MOST,
    Mode,
    TensorsOption,
    is_device,
)
from hookcli.spec.selectors import match_of

OPTIMIZERS = (
    "ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam",
    "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam",
)  # fmt: skip
_OUTPUT = re.compile(r"output:.+", re.DOTALL)


def _loss(item: Node, text: str) -> str:
    if text in LOSSES:
        return text
    if _OUTPUT.fullmatch(text):
        path = text.removeprefix("output:")
        try:
            match_of(f":output{path if path.startswith(('[', '.')) else f'.{path}'}")
        except ValueError as error:
            raise NodeError(item, error.args[0], "write output:loss or output:[0]") from None
        return text
    if ".py:" in text:
        return paths.code(item, text)
    raise NodeError(item, f"'{text}' is no loss", suggestion(text, LOSSES, LOSS_HINT + ";"))


def _device(item: Node, text: str) -> str:
    if not is_device(text):
        kind = text.partition(":")[0]
        raise NodeError(
            item,
            f"'{text}' is no device",
            suggestion("cuda" if kind == "gpu" else kind, DEVICES, "devices are"),
        )
    return text


def _dtype(item: Node, text: str) -> str:
    dtype = canonical_dtype(text)
    if dtype not in FLOATING:
        hint = suggestion(text, FLOATING, "dtypes are")
        raise NodeError(item, f"'{text}' is no floating dtype", hint)
    return dtype


_OPTIMIZER_NAME = Named(
    "optimizer", dict.fromkeys(OPTIMIZERS, ""), f"those of torch.optim: {', '.join(OPTIMIZERS)}"
)
_OPTIMIZER = ByType(
    {
        str: _OPTIMIZER_NAME,
        dict: Fields(
            {"name": Key(_OPTIMIZER_NAME, "one of torch.optim's; SGD where it is left out")},
            rest=Data(),
        ),
    },
    wants="a name or a mapping {name, lr, …}",
    hint="write optimizer: {name: SGD, lr: 1e-1}",
)


def _optimizer(_: Node, optimizer: str | dict[str, Any]) -> OptimizerSpec:
    if isinstance(optimizer, str):
        return OptimizerSpec(optimizer, {})
    return OptimizerSpec(
        optimizer.get("name", "SGD"),
        {key: value for key, value in optimizer.items() if key != "name"},
    )


_GRADIENT_HINT = "write gradient: [1.0, 0.0] or gradient: 2x10:float32:ones"


class _Gradient:
    """A number, a nested list of numbers, or a tensor to draw, as in `inputs`."""

    wants = "a number, a nested list of numbers, or a shape such as 2x10:float32:ones"

    def read(self, item: Node, problems: Problems) -> Any:
        """The plain data."""
        if not isinstance(item.value, str):
            return self._numbers(item, problems)
        input_spec = INPUT.read(item, problems)
        if input_spec.name is not None or not isinstance(input_spec.spec, TensorSpec):
            raise NodeError(item, f"'{item.value}' is no tensor to draw", _GRADIENT_HINT)
        return item.value

    def _numbers(self, item: Node, problems: Problems) -> Any:
        if isinstance(item.value, list):
            return [self._numbers(child, problems) for child in item.value]
        if isinstance(item.value, bool) or not isinstance(item.value, int | float):
            misfit(item, self.wants, _GRADIENT_HINT)
        return Number().read(item, problems)

    def schema(self) -> Schema:
        """JSON Schema; lists within lists are not looked into."""
        return {"type": ["number", "array", "string"]}


def _pattern(item: Node, text: str) -> str:
    try:
        match_of(text)
    except ValueError as error:
        raise NodeError(item, error.args[0], error.args[1]) from None
    return text


BACKWARD = Fields(
    {
        "gradient": Key(_Gradient(), "what backward starts from, in place of 1"),
        "times": Key(Integer(1), "how often backward is called"),
        "retain_graph": Key(Boolean(), "keep the graph; needed for all but the last time"),
        "create_graph": Key(Boolean(), "make a graph of the gradients, for double backward"),
        "inputs": Key(
            ListOf(Refined(Text(), _pattern), one=True, least=1),
            "take torch.autograd.grad with respect to these: globs of parameters, or values as "
            "PATTERN:output",
        ),
    }
)


def _modules(item: Node, text: str) -> tuple[str, str]:
    whole = all(part == "**" or "**" not in part for part in text.split("."))
    if not re.fullmatch(r"[\w*]+(?:\.[\w*]+)*", text) or not whole:
        raise NodeError(
            item,
            f"'{text}' is no glob of Python modules",
            "write mylib, mylib.* for what is in it, or mylib.** for all below it too",
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
        "extern": Key(_MODULES, "modules that the archive leaves out, as they are installed"),
        "intern": Key(_MODULES, "modules whose source the archive holds"),
        "mock": Key(_MODULES, "modules that it replaces by what raises on use"),
    },
    hint="write package: {intern: [mylib.**], mock: [plots]}",
)


def _made(make: Any) -> Any:
    return lambda _, fields: make(**fields)


RUN = Fields(
    {
        "mode": Key(Choice(get_args(Mode)), "the mode to run in"),
        "seed": Key(Integer(0, LARGEST), "of torch, random and numpy"),
        "loss": Key(
            Refined(Text(f"a text: {', '.join(LOSSES)}, output:PATH or file.py:fn"), _loss),
            "what backward starts from: probe, sum, mean, output:PATH or file.py:function",
        ),
        "steps": Key(Integer(1), "how many steps: forward, backward and, where asked, optimizer"),
        "optimizer": Key(
            Refined(_OPTIMIZER, _optimizer), "one of torch.optim, with its arguments"
        ),
        "backward": Key(Refined(BACKWARD, _made(BackwardSpec)), "how to go backward"),
        "batch_size": Key(Integer(1), "samples in an inferred batch"),
        "device": Key(Refined(Text("a text: cpu, cuda, cuda:1"), _device), "where to run"),
        "dtype": Key(
            Refined(Text("a text: float32, bfloat16"), _dtype), "cast the model to it"
        ),
        "tensors": Key(
            Choice(get_args(TensorsOption)), "fake: shapes without numbers; auto: real on failure"
        ),
        "no_grad": Key(Boolean(), "run without autograd"),
        "timeout": Key(Number(0, MOST), "seconds for the whole command"),
        "max_memory": Key(Number(0, MOST), "gigabytes for the model's processes"),
        "flops": Key(Boolean(), "count FLOPs where the command does not by itself"),
        "verify_neutral": Key(Boolean(), "run twice without hooks, and compare"),
        "package": Key(
            Refined(PACKAGE, _package),
            "what torch.package does with Python modules; the first pattern that matches decides",
        ),
        "distributed": Key(DISTRIBUTED, "several ranks that run together"),
    },
    hints={
        "grad": "try `no_grad`",
        "lr": "it belongs to the optimizer: optimizer: {name: SGD, lr: 1e-1}",
        "inputs": "inputs stand beside run, not in it; those of autograd.grad in run.backward",
    },
)  # fmt: skip


def run_of(section: dict[str, Any]) -> dict[str, Any]:
    """The names of RunSpec's fields: bytes for gigabytes, `grad` for `no_grad`."""
    run = dict(section)
    if "no_grad" in run:
        run["grad"] = not run.pop("no_grad")
    if "max_memory" in run:
        run["max_memory"] = int(run["max_memory"] * 1e9)
    if "timeout" in run:
        run["timeout"] = float(run["timeout"])
    return run
