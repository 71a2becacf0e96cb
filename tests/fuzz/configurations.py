"""Configurations that the commands accept; together they use every kind of key."""

from __future__ import annotations

from typing import Any

SNAPSHOT = """# Batch: float32 [2, 4] (given)
model: m.py
inputs: [2x4]
run: {mode: train, seed: 0}
checks:
  - {rule: finite}
  - {rule: grad_exists, severity: error}
  - {rule: uncalled_modules, severity: error}
  - {rule: deterministic}
  - {rule: input_shape, path: '[0]', shape: [B, 4]}
  - {rule: output_shape, path: .y, shape: [B, 3]}
  - {rule: output_shape, at: 'a.*', shape: [B, 4]}
  - {rule: dtype, part: parameter, dtype: float32}
  - {rule: budget, parameters: 35, trainable_parameters: 35, buffer_bytes: 0, exact: true}
  - {rule: budget, flops: 200, activation_bytes: 100}
  - {rule: trainable, at: '*'}
  - {rule: grad_cuts}
  - {rule: connected, at: '*'}
suppress:
  - {rule: finite, at: fc, reason: known}
"""

BASES: list[dict[str, Any]] = [
    {
        "model": {"source": "m.py:Net", "args": {"width": 3, "scale": 2.0}},
        "inputs": ["2x4"],
        "run": {"mode": "train", "seed": 3, "loss": "sum", "steps": 2, "batch_size": 2,
                "optimizer": {"name": "SGD", "lr": 0.1}, "device": "cpu", "tensors": "real",
                "backward": {"times": 1, "create_graph": False}},
        "hooks": [{"kind": "forward", "at": "a.*", "do": ["stats", {"scale": 0.5}]},
                  {"kind": ["tensor", "post_accumulate_grad"], "at": "fc.weight", "do": "record"}],
    },
    {
        "model": "m.py",
        "inputs": {"x": "2x4:float32:-1..1"},
        "preset": "none",
        "hooks": [
            {"kind": "tensor", "at": "*:output", "do": {"stats": "norm"}},
            {"kind": "forward", "at": {"type": "Linear", "depth": 1}, "calls": [0], "do": "zero",
             "options": {"prepend": True, "always_call": False, "with_kwargs": True}},
            {"kind": "full_backward", "at": "fc", "do": "negate", "steps": [0]},
            {"kind": "tensor", "at": "fc.weight", "do": {"clamp": [-1, 1]}},
            {"kind": "multi_grad", "at": "fc.*", "options": {"mode": "all"}, "do": "record"},
        ],
    },
    {
        "model": "m.py",
        "inputs": ["2x4"],
        "hooks": [
            {"kind": "op", "at": {"op": "aten.addmm"}, "do": "record"},
            {"kind": "engine_callback", "do": "record"},
            {"kind": "optimizer_step_pre", "do": "record"},
            {"kind": "state_dict_post", "at": "fc", "do": "record"},
            {"kind": "module_registration", "do": "record"},
            {"kind": "saved_tensors", "do": "stats"},
            {"kind": "node", "at": "*:input", "do": "stats"},
        ],
    },
    {
        "model": "m.py",
        "run": {"mode": "train", "loss": "mse", "targets": "2x3", "timeout": 20},
        "checks": [{"rule": "finite"}, {"rule": "output_shape", "at": "fc", "shape": ["B", 3]},
                   {"rule": "grad_exists", "severity": "error"}],
        "suppress": [{"rule": "finite", "at": "fc", "reason": "x"}],
        "fail_on": "warning",
    },
]  # fmt: skip
