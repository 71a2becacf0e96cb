"""Flags over the configuration over the defaults → Spec."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hookcli.catalogue.actions import CATALOGUE as ACTIONS
from hookcli.config.config import Config
from hookcli.config.presets import preset_hooks
from hookcli.errors import RequestError
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
    """What the command line says; None where a flag was not given.

    `run` has the names of RunSpec's fields; None, or a missing key, is "not given" there too.
    `kinds` is the text of --kinds: names of kinds between commas, or "all".
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
    """The whole request: a flag wins over the file, the file over the default.

    The hooks are the file's, then the preset's, or --kinds' in its place; `index` runs on.

    Raises
    ------
    RequestError : no model is named; --kinds names none or unknown ones; two hooks of which each
        would do cannot stand together; fake tensors are asked for and an action needs values.

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
    """The file's, with what the flags say; options of the other way of wrapping fall away."""
    if flags.nproc is None and flags.parallel is None:
        return base
    base = base or DistributedSpec()
    way = flags.parallel or base.parallel
    if way != base.parallel:
        base = DistributedSpec(nproc=base.nproc, parallel=way, backend=base.backend)
    return replace(base, nproc=flags.nproc or base.nproc, place="--nproc")


def _model(command: str, config: Config, flags: Flags) -> ModelSpec:
    """The model; the file's arguments and weights go with the file's model only."""
    base = config.model and replace(config.model, source=_from_here(config.model.source))
    if flags.model is not None and (base is None or not _same(flags.model, base.source)):
        base = ModelSpec(flags.model)
    if base is None:
        raise RequestError(
            "no model is named",
            place=f"hookcli {command}" if config.path is None else config.path,
            hint=f"write hookcli {command} MODEL, or model: path.py:Net in the configuration",
        )
    return replace(
        base,
        args=_arguments(base.args, flags.args or ()),
        weights=flags.weights or base.weights,
        trust=flags.trust,
    )


def _from_here(source: str) -> str:
    """A path as it would be typed here: reports then do not tell where the folder lies."""
    here = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118  # source may end in :attr
    return source.removeprefix(here)


def _same(source: str, other: str) -> bool:
    return _from_here(os.path.abspath(source)) == other or source == other  # noqa: PTH100


def _arguments(base: tuple[Argument, ...], given: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """The flags' arguments over the file's: by name, and positional ones all together."""
    names = {argument.name for argument in given}  # None among them where one is positional
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
    """What is to be judged, and what that needs; other commands than check judge nothing."""
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
                    f"{action.name} needs values, and fake tensors have none",
                    place=action.place,
                    hint="leave --tensors fake and run.tensors out, or take record",
                )
