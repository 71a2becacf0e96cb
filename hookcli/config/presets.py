"""The presets: hooks as a user would write them, read by the same reader.

A command is the engine with its preset; `hookcli init` prints one to start from.
"""

from __future__ import annotations

from functools import cache

from hookcli.spec.hooks import HookSpec

PRESETS: dict[str, str] = {
    "inspect": "hooks: []\n",
    "grads": """\
hooks:
  - {kind: tensor, at: "*:output", do: {stats: norm}}  # the gradient of every module's output
  - {kind: node, at: "*:input", do: {stats: norm}}     # every module's own share of its input's
""",
    "trace": """\
hooks:
  - {kind: [forward_pre, forward], at: "*", do: record}       # every module, before and after
  - {kind: tensor, at: "*:output", do: record}                # the gradient of its output
  - {kind: post_accumulate_grad, at: "*", do: record}         # .grad of every parameter
""",
    "none": "hooks: []\n",
}
_EMPTY = ("inspect", "check", "none")  # rules have probes of their own


@cache
def preset_hooks(name: str) -> tuple[HookSpec, ...]:
    """The hooks of a preset, counted from 0; their place is "preset trace"."""
    if name in _EMPTY:
        return ()  # nothing is read, and no YAML imported
    from dataclasses import replace

    from hookcli.config.load import read_text

    place = f"preset {name}"
    return tuple(
        replace(
            hook,
            place=place,
            actions=tuple(replace(action, place=place) for action in hook.actions),
        )
        for hook in read_text(PRESETS[name], place).hooks
    )
