"""The presets: hooks as a user would write them, read as any configuration is.

A command runs the engine with its preset. `hookcli init` prints a preset to start from.
"""

from __future__ import annotations

from functools import cache

from hookcli.spec.hooks import HookSpec

PRESETS: dict[str, str] = {
    "inspect": "hooks: []\n",
    "grads": """\
hooks:
  - {kind: tensor, at: "*:output", do: {stats: norm}}  # the gradient of every module's output
  - {kind: node, at: "*:input", do: {stats: norm}}     # each module's part of its input's gradient
""",
    "trace": """\
hooks:
  - {kind: [forward_pre, forward], at: "*", do: record}       # every module, before and after
  - {kind: tensor, at: "*:output", do: record}                # the gradient of its output
  - {kind: post_accumulate_grad, at: "*", do: record}         # .grad of every parameter
""",
    "none": "hooks: []\n",
}
_EMPTY = ("inspect", "check", "none")  # rules run their own probes


@cache
def preset_hooks(name: str) -> tuple[HookSpec, ...]:
    """Return the hooks of a preset, counted from 0, with a place such as "preset trace"."""
    if name in _EMPTY:
        return ()  # without importing YAML
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
