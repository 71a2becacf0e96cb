"""The hooks of a request with `--compiled`: figures of layers, which compiled code writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hookcli.catalogue.kinds import OUTPUT_GRADIENTS, OUTPUTS
from hookcli.config.kinds_flag import observers
from hookcli.errors import RequestError
from hookcli.spec.hooks import ActionSpec, HookSpec
from hookcli.spec.request import Command, RunSpec

_HINT = "remove it, or remove `--compiled`, to run the model without the compiler"


def hooks_of(
    command: Command, run: RunSpec, own: Sequence[HookSpec], kinds: str | None
) -> tuple[HookSpec, ...]:
    """Return the hooks of a compiled run: outputs of layers, and their gradients but in `inspect`.

    Raises
    ------
    RequestError : the configuration or --kinds has other hooks, or a setting needs hooks.
    """
    check_settings(run)
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


def check_settings(run: RunSpec) -> None:
    """Refuse settings that need hooks, or runs without the compiler, beside `--compiled`.

    Raises
    ------
    RequestError : one is set.
    """
    if run.compiled is None:
        return
    given = {
        "--tensors fake": run.tensors == "fake",
        "--no-grad": not run.grad,
        "--flops": run.flops,
        "--memory": run.memory,
        "--per-sample": run.per_sample,
        "--what-if": bool(run.what_if),
        "--verify-neutral": run.verify_neutral,
        "--nproc": run.distributed is not None,
        "run.package": bool(run.package),
        "run.backward.inputs": bool(run.backward.inputs),
    }
    for name, is_given in given.items():
        if is_given:
            raise RequestError(
                f"{name} cannot be combined with --compiled",
                place=f"--compiled {run.compiled}",
                hint=_HINT,
            )
