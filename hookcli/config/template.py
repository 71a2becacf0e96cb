"""`hookcli init`: a preset as a configuration to start from, with examples to uncomment."""

from __future__ import annotations

from hookcli.catalogue.kinds import CATALOGUE
from hookcli.config.presets import PRESETS
from hookcli.spec.yaml import flow

_HEAD = """\
# What hookcli runs, and with which hooks: hookcli {command} -c THIS_FILE
# Paths are relative to this file. hookcli schema config prints a JSON Schema for editors.
# extends: base.yaml                          # the file that this one adds to

model: {model}
# model: {{source: model.py:Net, args: {{depth: 18}}, weights: net.safetensors}}

# The batch. Without one the model's own is taken, or one is inferred.
# inputs: ["2x3x224x224"]                     # a list is positional
# inputs: {{input_ids: "2x16:int64:0..1000"}}   # a mapping is by keyword

# How to run; the flags of the same names win.
# run:
#   mode: train                               # train, eval, as-is
#   seed: 0
#   loss: probe                               # sum, mean, output:loss, my_loss.py:loss
#   steps: 1
#   optimizer: {{name: SGD, lr: 1e-1}}
#   backward: {{times: 1, create_graph: false}}
#   batch_size: 2
#   device: cpu
#   dtype: bfloat16
#   tensors: auto                             # fake: shapes without numbers; real
#   timeout: 600                              # seconds
#   max_memory: 8                             # gigabytes

preset: none                                  # the hooks below are those of preset {preset}
"""
_MORE = """\

  # More hooks. `hookcli list hooks` shows every kind, `hookcli list actions` what each can do.
  # - kind: forward                           # or a list of kinds
  #   at: "layer[1-4].*.conv?"                # * crosses dots
  #   calls: [0]                              # which calls of the module; steps: and every: too
  #   options: {prepend: true, always_call: false, with_kwargs: true}
  #   do: [stats, {scale: 0.5}]
"""
_TAIL = """
# checks:
#   - {rule: finite}
#   - {rule: output_shape, at: fc, shape: [2, 10]}

# fail_on: error                              # warning, never
"""


def initial_text(source: str, preset: str) -> str:
    """The configuration for `source` with the hooks of a preset; read, it gives just those."""
    command = preset if preset != "none" else "trace"
    head = _HEAD.format(command=command, model=flow(source), preset=preset)
    hooks = PRESETS[preset]
    if hooks == "hooks: []\n":
        hooks = "hooks: []                                     # take the [] out to add some\n"
    shown = (kind.example for kind in CATALOGUE.values() if kind.in_template)
    examples = "".join(f"  # - {example}\n" for example in shown)
    return head + hooks + _MORE + examples + _TAIL
