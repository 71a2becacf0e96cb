"""The names of formats and columns, for validation: importing this loads no renderer."""

from __future__ import annotations

FORMATS: dict[str, str] = {
    "table": "a table of the calls, as wide as the terminal (default)",
    "tree": "a line for each call, indented by who called whom, nothing left out",
    "json": "the whole report: hookcli.report/1, see `hookcli schema report`",
    "markdown": "the table for a pull request or an issue",
}

COLUMNS: dict[str, str] = {
    "layer": "Layer (type)",
    "name": "Name",
    "type": "Type",
    "input": "Input",
    "output": "Output",
    "params": "Param #",
    "own": "Own param #",
    "trainable": "Trainable #",
    "macs": "Mult-adds",
    "flops": "FLOPs",
    "dtype": "Dtype",
    "call": "Call",
    "order": "Order",
    "mode": "Mode",
    "place": "Place",
    "aliases": "Also named",
    "notes": "Notes",
}

DEFAULT_COLUMNS = ("layer", "input", "output", "params", "macs")
