"""The options of hooks: those of torch's register functions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HookOption:
    """One option. `does` explains it; `short` is its description in the JSON Schema.

    An option without `choices` is a Boolean. `example` is a value as written in YAML.
    """

    name: str
    does: str
    short: str
    example: str = "true"
    choices: tuple[str, ...] = ()


OPTIONS: dict[str, HookOption] = {
    option.name: option
    for option in (
        HookOption(
            "prepend", "runs before hooks that are already attached",
            "run before hooks that are already attached",
        ),
        HookOption(
            "always_call", "fires also if the forward raises an exception",
            "fire also if the forward raises an exception",
        ),
        HookOption(
            "with_kwargs", "passes keyword arguments to the hook too",
            "pass keyword arguments to the hook too",
        ),
        HookOption(
            "mode", "all: fires when all gradients are known; any: when the first one is",
            "fire when all gradients are known, or when the first one is", "any", ("all", "any"),
        ),
    )
}  # fmt: skip
