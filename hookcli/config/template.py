"""The configuration that `hookcli init` writes: a preset, and examples to uncomment."""

from __future__ import annotations

from hookcli.catalogue.kinds import CATALOGUE
from hookcli.config.presets import PRESETS
from hookcli.spec.yaml import flow

_HEAD = """\
# A configuration for hookcli. Run it with: hookcli {command} -c THIS_FILE
# Paths are relative to this file. hookcli schema config prints a JSON Schema for editors.
# extends: base.yaml                          # the base configuration that this file extends

model: {model}
# model: {{source: model.py:Net, args: {{depth: 18}}, weights: net.safetensors}}

# The batch. By default the model's own batch is used, or one is inferred.
# inputs: ["2x3x224x224"]                     # positional arguments
# inputs: {{input_ids: "2x16:int64:0..1000"}}   # keyword arguments

# How to run the model. Flags on the command line override these values.
# run:
#   mode: train                               # train, eval, as-is
#   seed: 0
#   loss: probe                               # sum, output:loss, cross_entropy, my_loss.py:loss
#   targets: "2:int64:0..1000"                # the target of the loss
#   steps: 1
#   optimizer: {{name: SGD, lr: 1e-1}}
#   backward: {{times: 1, create_graph: false}}
#   batch_size: 2
#   device: cpu
#   dtype: bfloat16
#   tensors: auto                             # fake (shapes without values), real
#   timeout: 600                              # seconds
#   max_memory: 8                             # gigabytes

preset: none                                  # the hooks of preset {preset} are listed below
"""
_MORE = """\

  # More hooks. `hookcli list hooks` lists all kinds, `hookcli list actions` all actions.
  # - kind: forward                           # or a list of kinds
  #   at: "layer[1-4].*.conv?"                # * also matches dots
  #   calls: [0]                              # only these calls of the module; also steps, every
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
    """Return a configuration for `source` with the hooks of a preset and no others."""
    command = preset if preset != "none" else "trace"
    head = _HEAD.format(command=command, model=flow(source), preset=preset)
    hooks = PRESETS[preset]
    if hooks == "hooks: []\n":
        hooks = "hooks: []                                     # remove the [] to add hooks\n"
    examples = "".join(f"  # - {kind.example}\n" for kind in CATALOGUE.values() if kind.in_template)
    return head + hooks + _MORE + examples + _TAIL
