"""The options that `hookcli COMMAND --help` shows, and their texts, which fit on a line each.

`--help-all` shows all options, with the texts of the option table. A command that is not named here
has few options, and its help shows them all.
"""

from __future__ import annotations

from collections.abc import Mapping

_MODEL = ("config", "inputs", "arg", "weights")
_END = ("formats", "output", "watch")

# By command, in the order of the page: the names of the fields of its flags.
SHORT: Mapping[str, tuple[str, ...]] = {
    "inspect": (
        *_MODEL, "batch_size", "device", "memory", "depth", "columns", "sort", *_END
    ),
    "grads": (*_MODEL, "targets", "loss", "device", "depth", "sort", "fail_on", *_END),
    "trace": (*_MODEL, "kinds", "phase", "loss", "device", "only", *_END),
    "check": (
        *_MODEL, "targets", "loss", "rule", "fail_on", "baseline", "update_baseline", *_END
    ),
    "diff": ("inputs", "arg", "grads", "tolerance", "own_weights", "save", "device", *_END),
    "run": (
        "config", "preset", "steps", "max_steps", "root", "stop_on", "against", "fail_on",
        "formats", "output",
    ),
    "snapshot": (*_MODEL, "targets", "loss", "device", "output", "force"),
}  # fmt: skip

TEXTS: Mapping[str, str] = {
    "a": "A model, or one with settings: 'model.py?dtype=bfloat16'; or two of the same kind: "
    "saved reports (.json), files of weights.",
    "against": "Compare with the saved report of another run.",
    "arg": "An argument of the model's constructor.",
    "b": "What to compare with A; same forms. Or a folder of tensors that another program wrote.",
    "baseline": "Ignore the findings that FILE lists.",
    "batch_size": "Number of samples, if the batch is inferred.",
    "columns": "Columns to show.",
    "config": "Read the configuration from FILE.",
    "depth": "Show modules down to this depth.",
    "device": "Device to run on: cpu, cuda, mps.",
    "fail_on": "Findings with status 1: error, warning, never.",
    "force": "Overwrite FILE if it exists.",
    "formats": "Output format: table, json, html, …",
    "grads": "Compare the gradients too.",
    "inputs": "One input of the model, such as 2x3x224x224.",
    "kinds": "Kinds of hooks to attach.",
    "loss": "Loss to differentiate, such as cross_entropy.",
    "max_steps": "End the script after N steps.",
    "memory": "Measure the memory of layers and of training.",
    "only": "Show only modules whose name matches GLOB.",
    "output": "Write to FILE; its suffix chooses the format.",
    "own_weights": "Keep B's own weights.",
    "phase": "Show only events of this phase: backward.",
    "preset": "What to observe: grads, trace, inspect.",
    "root": "The model to observe, if there are several.",
    "rule": "Check only this rule.",
    "save": "Write both reports to DIR.",
    "sort": "Order of the rows.",
    "steps": "Steps to observe in detail.",
    "stop_on": "End the script at: nonfinite, spike, finding.",
    "targets": "The target of the loss, such as 2:int64:0..10.",
    "tolerance": "Largest relative difference.",
    "update_baseline": "Write the findings to the file of --baseline.",
    "watch": "Run again whenever a file that was read changes.",
    "weights": "Load a state dict.",
}  # fmt: skip
METAVARS: Mapping[str, str] = {
    "fail_on": "SEVERITY",
    "phase": "PHASE",
    "preset": "PRESET",
    "stop_on": "EVENT",
}
HELP = "Show this message and exit."
HELP_ALL = "Show all options and exit."
