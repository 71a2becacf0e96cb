"""The whole configuration: its keys, and the validator of each."""

from __future__ import annotations

from typing import Any, get_args

from hookcli.config.parse import paths
from hookcli.config.parse.code_refs import Code
from hookcli.config.parse.containers import Fields, Key, ListOf
from hookcli.config.parse.nodes import Node, Problems
from hookcli.config.parse.scalars import Choice, Refined, Schema, Text, reject
from hookcli.config.sections import at, hooks, model
from hookcli.config.sections.checks import SUPPRESS, Check
from hookcli.config.sections.hooks import Read, hook_schema, read_hook
from hookcli.config.sections.model import INPUTS, MODEL
from hookcli.config.sections.run import RUN
from hookcli.rules.verdict import FailOn

PRESETS = ("trace", "grads", "inspect", "none")
DEFS: Schema = {**at.DEFS, **hooks.DEFS, **model.DEFS}


class _Hooks:
    """A list of hooks, numbered from 0."""

    expected = "a list of hooks"

    def read(self, item: Node, problems: Problems) -> tuple[Read, ...]:
        """Return the hooks with their places, without those that have a problem."""
        if not isinstance(item.value, list):
            reject(item, self.expected, "write `hooks: [{kind: forward, at: fc, do: stats}]`")
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


_MODEL_DOES = "the model, as MODEL on the command line, or {source, args, weights}"
ROOT = Fields(
    {
        "extends": Key(Text(), "a base configuration to add to; relative to this file"),
        "model": Key(MODEL, _MODEL_DOES),
        "inputs": Key(INPUTS, "the batch: a list of positional or a mapping of keyword arguments"),
        "run": Key(RUN, "how to run the model"),
        "preset": Key(
            Choice(PRESETS),
            "a named list of hooks to add; without hooks, the default is the command's own preset",
        ),
        "libraries": Key(ListOf(Refined(Text(), _library)), "compiled operators to load"),
        "hooks": Key(_Hooks(), "the hooks, attached in this order"),
        "checks": Key(ListOf(Check()), "the rules for hookcli check, in addition to the safe set"),
        "suppress": Key(ListOf(SUPPRESS), "findings that do not count, each with its reason"),
        "fail_on": Key(Choice(get_args(FailOn)), "the findings that cause exit status 1"),
    },
    expected="a mapping with keys such as model and hooks",
    hint="write `model: model.py:Net` on a line, and `hooks:` below it",
    hints={
        "include": "use `extends: base.yaml`",
        "input": "try `inputs`",
        "rules": "try `checks`",
        "tests": "try `checks`",
        "seed": "write `run: {seed: 0}`",
        "mode": "write `run: {mode: train}`",
        "steps": "write `run: {steps: 1}`",
        "loss": "write `run: {loss: probe}`",
        "targets": 'write `run: {targets: "2:int64:0..10"}`',
        "optimizer": "write `run: {optimizer: {name: SGD, lr: 1e-1}}`",
        "trust": "pass `--trust` on the command line",
        "data_only": "pass `--data-only` on the command line",
        "suppressions": "try `suppress`",
        "args": "write `model: {source: model.py:Net, args: {depth: 18}}`",
        "weights": "write `model: {source: model.py:Net, weights: w.safetensors}`",
    },
)


def read_root(item: Node, problems: Problems) -> dict[str, Any]:
    """Return the sections that could be read. Problems are noted."""
    with problems.catching():
        return ROOT.partly(item, problems)
    return {}
