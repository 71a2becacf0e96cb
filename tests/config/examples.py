"""Configurations that are valid, and ones whose structure is not: reader and schema agree."""

# ruff: noqa: E501  # examples are as users write them

from __future__ import annotations

SECTION_8 = """\
model: {source: model.py:Net, args: {depth: 18}, weights: net.safetensors}
inputs: ["2x3x64x64"]
run: {mode: train, seed: 0, loss: probe, steps: 1, optimizer: {name: SGD, lr: 1e-1}, backward: {times: 1}}
preset: none
libraries: [libmine.so]
hooks:
  - kind: forward
    at: "layer[1-4].*.conv?"
    calls: [0]
    options: {prepend: true, always_call: false, with_kwargs: true}
    do: [stats, {scale: 0.5}, {call: "my_hooks.py:halve"}]
  - {kind: tensor, at: fc.weight, do: {clamp: [-1, 1]}}
  - {kind: tensor, at: "layer1:output", do: stats}
  - {kind: node, at: fc, do: record}
  - {kind: ddp_comm, do: [{comm: fp16_compress}, record]}
checks:
  - {rule: finite}
  - {rule: output_shape, at: fc, shape: [2, 10]}
  - {rule: firing_order, order: [conv1, bn1, fc], severity: warning}
"""

VALID = {
    "section 8": SECTION_8,
    "a model alone": "model: model.py:Net",
    "a module": "model: package.module:Net",
    "positional arguments": "model: {source: model.py, args: [1, two]}",
    "a call": "model: {source: model.py, args: {config: {call: 'a.b:C', args: {n: 1}}}}",
    "inputs by keyword": "inputs: {ids: '2x16:int64:0..100', mask: 'value:none'}",
    "one input": "inputs: batch.pt",
    "nested inputs": "inputs: [['2x3', '2x4'], {a: {b: ['4']}}]",
    "a keyword in a list": "inputs: ['2x3', 'mask=2x3:bool']",
    "every key of run": """\
run:
  mode: as-is
  seed: 1
  loss: output:loss
  steps: 2
  optimizer: Adam
  backward: {gradient: [[1, 0.5]], times: 2, retain_graph: true, create_graph: false, inputs: ["*.weight", "fc:output"]}
  batch_size: 4
  device: cuda:1
  dtype: bf16
  tensors: real
  no_grad: false
  timeout: 60
  max_memory: 2.5
  flops: true
  verify_neutral: true
  memory: true
  what_if: ["batch=32,dtype=float16", "optimizer=sgd,momentum=0.9"]
  distributed: {nproc: 2, parallel: fsdp}
""",
    "hooks": """\
hooks:
  - {kind: [forward_pre, forward], at: "*"}
  - {kind: forward, at: [{type: Conv2d, depth: 2, leaf: true}, {regex: "a.*", not: a.b}, {name: ""}]}
  - {kind: tensor, at: {type: Linear, part: "output[0]"}, do: record}
  - {kind: tensor, at: {op: aten.add, in: layer1, call: 0}, do: {scale: 2}}
  - {kind: multi_grad, at: ["fc.*", "fc:input"], options: {mode: any}, steps: 0, every: 2}
  - {kind: node, at: {node: AddmmBackward0, in: [a, {type: B}]}}
  - {kind: node, at: "fc:input", do: stats}
  - {kind: [op, saved_tensors]}
  - {kind: saved_tensors, at: fc, do: {call: {pack: "f.py:p", unpack: "f.py:u"}}}
  - {kind: forward, at: fc, do: {call: {fn: "f.py:h", signature: event}}}
  - {kind: forward, at: fc, do: [save, {save: taps/}, {replace: "mask.safetensors#m"}]}
  - {kind: tensor, at: fc.weight, do: {call: torch.ops.mine.clip}}
  - {kind: parameter_registration}
  - {kind: ddp_comm, do: {comm: {name: power_sgd, matrix_approximation_rank: 2}}}
""",
    "fail_on": "fail_on: never",
    "checks": "checks: [{rule: budget, parameters: 1e6, severity: error}]",
    "every shape of an option": """\
checks:
  - {rule: finite}
  - {rule: grad_exists, at: [a.*, b]}
  - {rule: uncalled_modules, at: "encoder.*", all: true}
  - {rule: deterministic, modes: [eval, train]}
  - {rule: batch_independent, dim: 1, tolerance: 1e-3}
  - {rule: input_shape, shape: [B, 3, "*", 32], path: "[0]"}
  - {rule: dtype, dtype: torch.bfloat16, part: parameter}
  - {rule: firing_order, order: ["", fc], match: exact, kind: forward}
  - {rule: frozen, at: fc.weight, severity: warning}
  - {rule: same_as, report: model.py, rtol: 0.1}
suppress:
  - {rule: grad_exists, at: "head.*", reason: trained later}
""",
    "no suppression": "suppress: []",
}

# key path that a schema's error names, the text
STRUCTURAL = {
    "an unknown key": "modle: model.py",
    "a list": "[1, 2]",
    "a text": "hooks",
    "model a list": "model: [model.py]",
    "model without source": "model: {args: {depth: 1}}",
    "model unknown key": "model: {source: model.py, arg: {depth: 1}}",
    "model empty": "model: ''",
    "args a text": "model: {source: model.py, args: depth}",
    "inputs a number": "inputs: 16",
    "an input a number": "inputs: [16]",
    "inputs empty": "inputs: []",
    "run a list": "run: [train]",
    "run unknown key": "run: {sede: 1}",
    "mode": "run: {mode: trian}",
    "seed negative": "run: {seed: -1}",
    "seed a text": "run: {seed: '0'}",
    "seed a fraction": "run: {seed: 0.5}",
    "steps zero": "run: {steps: 0}",
    "steps a flag": "run: {steps: true}",
    "timeout zero": "run: {timeout: 0}",
    "timeout too large": "run: {timeout: 1e10}",
    "flops a text": "run: {flops: yes}",
    "backward unknown key": "run: {backward: {time: 1}}",
    "optimizer a list": "run: {optimizer: [SGD]}",
    "optimizer unknown": "run: {optimizer: Sgd}",
    "distributed": "run: {distributed: {nproc: 0}}",
    "preset": "preset: tarce",
    "fail_on": "fail_on: always",
    "libraries a text": "libraries: libmine.so",
    "hooks a mapping": "hooks: {kind: forward, at: fc}",
    "hooks null": "hooks:",
    "a hook a text": "hooks: [forward]",
    "no kind": "hooks: [{at: fc}]",
    "kind unknown": "hooks: [{kind: fowrard, at: fc}]",
    "kinds empty": "hooks: [{kind: [], at: fc}]",
    "hook unknown key": "hooks: [{kind: forward, at: fc, actions: stats}]",
    "no at": "hooks: [{kind: forward}]",
    "no at among kinds": "hooks: [{kind: [op, forward]}]",
    "at on an engine callback": "hooks: [{kind: engine_callback, at: fc}]",
    "at on a global kind": "hooks: [{kind: global_forward, at: fc}]",
    "at a number": "hooks: [{kind: forward, at: 1}]",
    "at empty": "hooks: [{kind: forward, at: []}]",
    "at without conditions": "hooks: [{kind: forward, at: {}}]",
    "at unknown key": "hooks: [{kind: forward, at: {typ: Conv2d}}]",
    "depth negative": "hooks: [{kind: forward, at: {depth: -1}}]",
    "calls a text": "hooks: [{kind: forward, at: fc, calls: first}]",
    "calls negative": "hooks: [{kind: forward, at: fc, calls: [-1]}]",
    "every zero": "hooks: [{kind: forward, at: fc, every: 0}]",
    "option unknown": "hooks: [{kind: forward, at: fc, options: {prependd: true}}]",
    "option of another kind": "hooks: [{kind: forward_pre, at: fc, options: {always_call: true}}]",
    "option of no kind here": "hooks: [{kind: node, at: fc, options: {prepend: true}}]",
    "option a text": "hooks: [{kind: forward, at: fc, options: {prepend: 'yes'}}]",
    "mode of multi_grad": "hooks: [{kind: multi_grad, at: fc, options: {mode: some}}]",
    "action unknown": "hooks: [{kind: forward, at: fc, do: clmp}]",
    "actions empty": "hooks: [{kind: forward, at: fc, do: []}]",
    "action of two keys": "hooks: [{kind: forward, at: fc, do: {scale: 1, clip_norm: 1}}]",
    "action without argument": "hooks: [{kind: forward, at: fc, do: scale}]",
    "action with an argument": "hooks: [{kind: forward, at: fc, do: {stats: 1}}]",
    "scale a text": "hooks: [{kind: forward, at: fc, do: {scale: half}}]",
    "clip_norm zero": "hooks: [{kind: forward, at: fc, do: {clip_norm: 0}}]",
    "clamp of one": "hooks: [{kind: forward, at: fc, do: {clamp: [1]}}]",
    "call a list": "hooks: [{kind: forward, at: fc, do: {call: ['f.py:h']}}]",
    "call signature": "hooks: [{kind: forward, at: fc, do: {call: {fn: 'f.py:h', signature: any}}}]",
    "half a pair": "hooks: [{kind: saved_tensors, do: {call: {pack: 'f.py:h'}}}]",
    "comm unknown": "hooks: [{kind: ddp_comm, do: {comm: fp8}}]",
    "comm state of another": "hooks: [{kind: ddp_comm, do: {comm: {name: noop, random_seed: 1}}}]",
    "comm lacks state": "hooks: [{kind: ddp_comm, do: {comm: post_local_sgd}}]",
    "a check a text": "checks: [finite]",
    "a check without rule": "checks: [{at: fc}]",
    "severity": "checks: [{rule: finite, severity: fatal}]",
    "a rule that is none": "checks: [{rule: finit}]",
    "an option of another rule": "checks: [{rule: finite, at: fc}]",
    "an option that is left out": "checks: [{rule: output_shape, at: fc}]",
    "a shape that is none": "checks: [{rule: output_shape, shape: [2, -1]}]",
    "a suppression without a reason": "suppress: [{rule: finite, at: fc}]",
    "a suppression of no rule": "suppress: [{rule: finit, at: fc, reason: no}]",
    "extends a list": "extends: [a.yaml, b.yaml]",
}  # fmt: skip
