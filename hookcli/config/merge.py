"""Merges flags, configuration and defaults into a Spec."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hookcli.catalogue.actions import CATALOGUE as ACTIONS
from hookcli.config.config import Config
from hookcli.config.presets import preset_hooks
from hookcli.errors import RequestError
from hookcli.sentences import missing
from hookcli.spec.checks import CheckSpec
from hookcli.spec.hooks import HookSpec
from hookcli.spec.inputs import InputSpec
from hookcli.spec.ranks import is_together
from hookcli.spec.request import (
    Argument,
    Command,
    DistributedSpec,
    ModelSpec,
    Parallel,
    RunSpec,
    Spec,
)


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags of the command line. None means that a flag was not given.

    The keys of `run` are the names of RunSpec's fields; None, or a missing key, means "not given"
    there too. `kinds` is the value of --kinds: names of kinds between commas, or "all".
    """

    model: str | None = None
    args: tuple[Argument, ...] | None = None
    weights: str | None = None
    trust: bool = False
    data_only: bool = False
    inputs: tuple[InputSpec, ...] | None = None
    run: Mapping[str, Any] = field(default_factory=dict)
    kinds: str | None = None
    stream: str | None = None
    nproc: int | None = None
    parallel: Parallel | None = None


def spec_of(command: Command, config: Config | None, flags: Flags) -> Spec:
    """Return the whole request. A flag overrides the file, and the file overrides the default.

    The hooks are those of the file, then those of the preset or of --kinds, numbered in this order.

    Raises
    ------
    RequestError : MODEL is missing; --kinds is empty or names unknown kinds; two hooks exclude each
        other; fake tensors are requested and an action needs values.

    """
    config = config or Config()
    run = _run(config, flags)
    hooks = _hooks(command, config, flags)
    _check_values(run, hooks)
    checks, probes = _checks(command, config, together=is_together(run.distributed))
    return Spec(
        command=command,
        model=_model(command, config, flags),
        inputs=config.inputs if not flags.inputs else flags.inputs,
        run=run,
        hooks=hooks,
        libraries=config.libraries,
        stream=flags.stream,
        checks=checks,
        suppressions=config.suppress,
        probes=probes,
        data_only=flags.data_only,
    )


def _run(config: Config, flags: Flags) -> RunSpec:
    given = {**flags.run, "distributed": _distributed(config.run.get("distributed"), flags)}
    return RunSpec(**{**config.run, **{k: v for k, v in given.items() if v is not None}})


def _distributed(base: DistributedSpec | None, flags: Flags) -> DistributedSpec | None:
    """Return the file's options, overridden by flags. --parallel drops the options of the other."""
    if flags.nproc is None and flags.parallel is None:
        return base
    base = base or DistributedSpec()
    parallel = flags.parallel or base.parallel
    if parallel != base.parallel:
        base = DistributedSpec(nproc=base.nproc, parallel=parallel, backend=base.backend)
    return replace(base, nproc=flags.nproc or base.nproc, place="--nproc")


def _model(command: str, config: Config, flags: Flags) -> ModelSpec:
    """Return the model. The file's arguments and weights apply only to the file's model."""
    base = config.model and replace(config.model, source=_from_here(config.model.source))
    if flags.model is not None and (base is None or not _same(flags.model, base.source)):
        base = ModelSpec(flags.model)
    if base is None:
        raise RequestError(
            missing("MODEL"),
            place=f"hookcli {command}" if config.path is None else config.path,
            hint=f"run `hookcli {command} MODEL`, or add `model: path.py:Net` to the configuration",
        )
    return replace(
        base,
        args=_arguments(base.args, flags.args or ()),
        weights=flags.weights or base.weights,
        trust=flags.trust,
    )


def _from_here(source: str) -> str:
    """Return a path relative to the working folder, so that reports do not contain its location."""
    here = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118  # source may end in :attr
    return source.removeprefix(here)


def _same(source: str, other: str) -> bool:
    return _from_here(os.path.abspath(source)) == other or source == other  # noqa: PTH100


def _arguments(base: tuple[Argument, ...], given: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """Return the flags' arguments merged over the file's, by name; positional ones as a whole."""
    names = {argument.name for argument in given}  # contains None if one is positional
    return (*(argument for argument in base if argument.name not in names), *given)


def _hooks(command: Command, config: Config, flags: Flags) -> tuple[HookSpec, ...]:
    own = config.hooks
    after = own[-1].index + 1 if own else 0
    if flags.kinds is not None:
        from hookcli.config.kinds_flag import observers

        added = observers(flags.kinds)
    else:
        added = preset_hooks(config.preset or ("none" if own else command))
    hooks = (*own, *(replace(hook, index=after + hook.index) for hook in added))
    _check_conflicts(hooks)
    return hooks


def _checks(
    command: Command, config: Config, *, together: bool
) -> tuple[tuple[CheckSpec, ...], tuple[str, ...]]:
    """Return the checks, and the probes that they need. Only `check` evaluates checks."""
    if command != "check":
        return config.checks, ()
    from hookcli.rules.catalogue import probes_of, with_safe_set

    checks = with_safe_set(config.checks, together=together)
    return checks, probes_of(checks)


def _check_conflicts(hooks: tuple[HookSpec, ...]) -> None:
    if not hooks:
        return
    from hookcli.config.conflicts import conflicts

    for conflict in conflicts(hooks):
        raise RequestError(conflict.message, place=hooks[conflict.second].place, hint=conflict.hint)


def _check_values(run: RunSpec, hooks: tuple[HookSpec, ...]) -> None:
    if run.tensors != "fake":
        return
    for hook in hooks:
        for action in hook.actions:
            if ACTIONS[action.name].needs_values:
                raise RequestError(
                    f"{action.name} requires values, which fake tensors do not have",
                    place=action.place,
                    hint="remove `--tensors fake` or `run.tensors`, or use action record",
                )
