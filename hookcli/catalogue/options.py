"""The options that kinds of hooks take: those of torch's register functions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HookOption:
    """One option. `does` explains it, `short` says it in the schema of the configuration.

    It is a boolean where `choices` are empty, and `example` a value as YAML has it.
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
            "prepend", "puts it before the hooks that stand there already",
            "before the hooks that are there",
        ),
        HookOption(
            "always_call", "fires it also where the forward raised", "also where forward raised"
        ),
        HookOption(
            "with_kwargs", "gives it the keyword arguments too",
            "the hook gets keyword arguments too",
        ),
        HookOption(
            "mode", "all, once all gradients are there, or any, at the first",
            "when all gradients are there, or the first", "any", ("all", "any"),
        ),
    )
}  # fmt: skip
