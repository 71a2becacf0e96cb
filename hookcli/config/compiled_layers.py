"""The hooks of a request with `--compiled`: figures of layers, which compiled code writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hookcli.catalogue.kinds import OUTPUT_GRADIENTS, OUTPUTS
from hookcli.config.kinds_flag import observers
from hookcli.errors import RequestError
from hookcli.spec.hooks import ActionSpec, HookSpec
from hookcli.spec.request import Command, RunSpec
from hookcli.spec.settings import SETTINGS

_HINT = "remove it, or remove `--compiled`, to run the model without the compiler"


def hooks_of(
    command: Command, run: RunSpec, own: Sequence[HookSpec], kinds: str | None
) -> tuple[HookSpec, ...]:
    """Return the hooks of a compiled run: outputs of layers, and their gradients but in `inspect`.

    Raises
    ------
    RequestError : the configuration or --kinds has other hooks, or a setting needs hooks.
    """
    for name, is_given in _impossible(run):
        if is_given:
            raise RequestError(
                f"{SETTINGS[name].flag if name in SETTINGS else name} cannot be combined with "
                "--compiled",
                place=f"--compiled {run.compiled}",
                hint=_HINT,
            )
    if kinds is not None or own:
        place = f"--kinds {kinds}" if kinds is not None else own[0].place
        raise RequestError(
            "hooks cannot be attached to a model that runs compiled",
            place=place,
            hint=_HINT,
        )
    wanted = OUTPUTS if command == "inspect" else f"{OUTPUTS},{OUTPUT_GRADIENTS}"
    norms = "norm" if run.compiled == "layers" else None
    stats = (ActionSpec("stats", norms, "--compiled"),)
    return tuple(
        replace(hook, actions=stats, place=f"--compiled {run.compiled}")
        for hook in observers(wanted)
    )


def _impossible(run: RunSpec) -> list[tuple[str, bool]]:
    """Return the settings that need hooks, or runs without the compiler, and whether each is on."""
    return [
        ("no_grad", not run.grad),
        ("flops", run.flops),
        ("memory", run.memory),
        ("what_if", bool(run.what_if)),
        ("verify_neutral", run.verify_neutral),
        ("run.distributed", run.distributed is not None),
        ("run.package", bool(run.package)),
        ("run.backward.inputs", bool(run.backward.inputs)),
    ]
