"""Merges flags, configuration and defaults into a Spec."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from hookcli.catalogue.actions import CATALOGUE as ACTIONS, Reads
from hookcli.config.compiled_layers import hooks_of as hooks_of_compiled
from hookcli.config.config import Config
from hookcli.config.presets import preset_hooks
from hookcli.errors import RequestError
from hookcli.rules.rule import COMPILED_PROBES, NEUTRAL
from hookcli.sentences import missing
from hookcli.spec.checks import CheckSpec, ProbeRequest, request_probe, requests_probe
from hookcli.spec.hooks import ActionSpec, HookSpec
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

Figures: TypeAlias = Literal["norm", "all"]


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags of the command line. None means that a flag was not given.

    The keys of `run` are the names of RunSpec's fields; None, or a missing key, means "not given"
    there too. `kinds` is the value of --kinds: names of kinds between commas, or "all".
    `statistics` are those that hooks of the preset or of --kinds record for --columns or --sort.
    """

    model: str | None = None
    args: tuple[Argument, ...] | None = None
    argv: tuple[str, ...] | None = None
    method: str | None = None
    weights: str | None = None
    trust: bool = False
    data_only: bool = False
    inputs: tuple[InputSpec, ...] | None = None
    run: Mapping[str, Any] = field(default_factory=dict)
    kinds: str | None = None
    stream: str | None = None
    nproc: int | None = None
    parallel: Parallel | None = None
    statistics: Figures | None = None


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
    hooks = _hooks(command, config, flags, run)
    _check_values(run, hooks)
    checks, probes = _checks(command, config, together=is_together(run.distributed))
    if run.compiled is not None:  # other probes need hooks, or runs without the compiler
        probes = tuple(probe for probe in probes if probe.name in COMPILED_PROBES)
    spec = Spec(
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
    return with_probes(spec, probes)


def training_spec_of(command: Command, config: Config, flags: Flags, script: str) -> Spec:
    """Return the request to observe a training: hooks and checks, and a script as its model.

    Raises
    ------
    RequestError : --kinds is empty or names unknown kinds; two hooks exclude each other.
    """
    return Spec(
        command=command,
        model=ModelSpec(script),
        run=RunSpec(python=flags.run.get("python") or config.run.get("python"), tensors="real"),
        hooks=_merged(command, config, flags),
        stream=flags.stream,
        checks=config.checks,
        suppressions=config.suppress,
    )


def with_checks(spec: Spec, checks: tuple[CheckSpec, ...]) -> Spec:
    """Return the request with these checks, and with the probes of them and of the verdict."""
    from hookcli.rules.catalogue import probes_of, watched

    probes = tuple(dict.fromkeys((*probes_of(checks), *watched())))
    return with_probes(replace(spec, checks=checks), probes)


def with_probes(spec: Spec, probes: tuple[ProbeRequest, ...]) -> Spec:
    """Return the request with these probes; one of them is a flag of the run."""
    neutral = spec.run.verify_neutral or requests_probe(probes, NEUTRAL)
    if spec.run.per_sample and spec.command == "grads":
        probes = tuple(dict.fromkeys((*probes, request_probe("per_sample"))))
    return replace(spec, probes=probes, run=replace(spec.run, verify_neutral=neutral))


def _run(config: Config, flags: Flags) -> RunSpec:
    given = {**flags.run, "distributed": _distributed(config.run.get("distributed"), flags)}
    run = RunSpec(**{**config.run, **{k: v for k, v in given.items() if v is not None}})
    return replace(run, loss=_from_here(run.loss))


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
    """Return the model. The file's arguments and weights apply to its own model only."""
    base = config.model and replace(config.model, source=_from_here(config.model.source))
    if flags.model is not None and (base is None or not same_model(flags.model, base.source)):
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
        argv=base.argv if flags.argv is None else flags.argv,
        method=flags.method or base.method,
        weights=flags.weights or base.weights,
        trust=flags.trust,
    )


def _from_here(source: str) -> str:
    """Return a path relative to the working folder, so that reports do not contain its location."""
    here = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118  # source may end in :attr
    prefix = "hf:" if source.startswith("hf:") else ""
    return prefix + source.removeprefix(prefix).removeprefix(here)


def same_model(source: str, other: str) -> bool:
    """Whether two sources name the same model, one of them perhaps with an absolute path."""
    prefix = "hf:" if source.startswith("hf:") else ""
    whole = prefix + os.path.abspath(source.removeprefix(prefix))  # noqa: PTH100
    return _from_here(other) in (_from_here(whole), source)


def _arguments(base: tuple[Argument, ...], given: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """Return the flags' arguments merged over the file's, by name; positional ones as a whole."""
    names = {argument.name for argument in given}  # contains None if one is positional
    return (*(argument for argument in base if argument.name not in names), *given)


def _hooks(command: Command, config: Config, flags: Flags, run: RunSpec) -> tuple[HookSpec, ...]:
    for hook in config.hooks:
        if hook.root is not None:
            raise RequestError(
                f"{command} does not support key 'root' of a hook, which selects a model",
                place=hook.place,
                hint="remove `root`, or use `hookcli run`",
            )
    if run.compiled is not None:
        return hooks_of_compiled(command, run, config.hooks, flags.kinds)
    return _merged(command, config, flags)


def _merged(command: Command, config: Config, flags: Flags) -> tuple[HookSpec, ...]:
    own = config.hooks
    after = own[-1].index + 1 if own else 0
    if flags.kinds is not None:
        from hookcli.config.kinds_flag import observers

        added = observers(flags.kinds)
    else:
        added = preset_hooks(config.preset or ("none" if own else command))
    if flags.statistics is not None:
        added = tuple(_measuring(hook, flags.statistics) for hook in added)
    hooks = (*own, *(replace(hook, index=after + hook.index) for hook in added))
    _check_conflicts(hooks)
    return hooks


def _measuring(hook: HookSpec, figures: Figures) -> HookSpec:
    """Return the hook of a preset with an action that records statistics instead of shapes only."""
    replaced = {Reads.NOTHING} if figures == "norm" else {Reads.NOTHING, Reads.FIGURES}
    stats = ActionSpec("stats", "norm" if figures == "norm" else None, "--columns or --sort")
    actions = (stats if ACTIONS[a.name].reads in replaced else a for a in hook.actions)
    return replace(hook, actions=tuple(actions))


def _checks(
    command: Command, config: Config, *, together: bool
) -> tuple[tuple[CheckSpec, ...], tuple[ProbeRequest, ...]]:
    """Return the checks, and the probes that they need. Only `check` evaluates checks.

    `grads` and `trace` have the probes of the rules that diagnose.
    """
    if command == "inspect":
        return config.checks, ()
    from hookcli.rules.catalogue import probes_of, watched, with_safe_set

    if command != "check":
        return config.checks, watched()

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
