"""The whole of a configuration: its keys, and each one's shape."""

from __future__ import annotations

from typing import Any, get_args

from hookcli.config.parse import paths
from hookcli.config.parse.code_refs import Code
from hookcli.config.parse.containers import Fields, Key, ListOf
from hookcli.config.parse.nodes import Node, Problems
from hookcli.config.parse.scalars import Choice, Refined, Schema, Text, misfit
from hookcli.config.sections import at, hooks, model
from hookcli.config.sections.checks import SUPPRESS, Check
from hookcli.config.sections.hooks import Read, hook_schema, read_hook
from hookcli.config.sections.model import INPUTS, MODEL
from hookcli.config.sections.run import RUN
from hookcli.rules.verdict import FailOn

PRESETS = ("trace", "grads", "inspect", "none")
DEFS: Schema = {**at.DEFS, **hooks.DEFS, **model.DEFS}


class _Hooks:
    """A list of hooks; the index of each counts from 0."""

    wants = "a list of hooks"

    def read(self, item: Node, problems: Problems) -> tuple[Read, ...]:
        """The hooks with their places; those about which anything was noted are left out."""
        if not isinstance(item.value, list):
            misfit(item, self.wants, "write hooks: [{kind: forward, at: fc, do: stats}]")
        values: list[Read] = []
        for index, child in enumerate(item.value):
            with problems.catching():
                values.extend(read_hook(child, index, problems))
        return tuple(values)

    def schema(self) -> Schema:
        """JSON Schema."""
        return {"type": "array", "items": hook_schema()}


def _library(item: Node, text: str) -> str:
    return Code(paths.existing(item, text), item, "a library")


_MODEL_DOES = "which model, as MODEL: a text, or {source, args, weights}"
ROOT = Fields(
    {
        "extends": Key(Text(), "a base that this file adds to; relative to this file"),
        "model": Key(MODEL, _MODEL_DOES),
        "inputs": Key(INPUTS, "the batch: a list is positional, a mapping is by keyword"),
        "run": Key(RUN, "how to run"),
        "preset": Key(
            Choice(PRESETS),
            "hooks to add; where it is left out the command's own if there are no hooks here",
        ),
        "libraries": Key(ListOf(Refined(Text(), _library)), "compiled operators to load"),
        "hooks": Key(_Hooks(), "the hooks, attached in this order"),
        "checks": Key(ListOf(Check()), "the rules to judge by, beside the safe set: hookcli check"),
        "suppress": Key(ListOf(SUPPRESS), "findings that do not count, each with its reason"),
        "fail_on": Key(Choice(get_args(FailOn)), "which findings end with status 1"),
    },
    wants="a mapping with keys such as model and hooks",
    hint="write model: model.py:Net on a line, and hooks: below it",
    hints={
        "include": "extends: base.yaml is the one way to include",
        "input": "try `inputs`",
        "seed": "it is one of run's: run: {seed: 0}",
        "mode": "it is one of run's: run: {mode: train}",
        "steps": "it is one of run's: run: {steps: 1}",
        "loss": "it is one of run's: run: {loss: probe}",
        "optimizer": "it is one of run's: run: {optimizer: {name: SGD, lr: 1e-1}}",
        "trust": "whoever runs it says it, on the command line: --trust",
        "data_only": "whoever runs it says it, on the command line: --data-only",
        "suppressions": "try `suppress`",
        "args": "it is one of model's: model: {source: model.py:Net, args: {depth: 18}}",
        "weights": "it is one of model's: model: {source: model.py:Net, weights: w.safetensors}",
    },
)


def read_root(item: Node, problems: Problems) -> dict[str, Any]:
    """What could be read of a document; the rest is noted."""
    with problems.catching():
        return ROOT.partly(item, problems)
    return {}
