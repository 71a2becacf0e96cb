"""The plan of a run: its phases, its mode, and whether it needs real tensors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from hookcli.catalogue.actions import CATALOGUE as ACTIONS
from hookcli.catalogue.kind import Phase
from hookcli.catalogue.kinds import CATALOGUE
from hookcli.errors import RequestError
from hookcli.spec.checks import requests_probe
from hookcli.spec.hooks import BackwardSpec, HookSpec, OptimizerSpec
from hookcli.spec.losses import is_function, named_loss
from hookcli.spec.request import Mode, Spec
from hookcli.text import counted


@dataclass(frozen=True, slots=True)
class Plan:
    """How to run a model. `optimizer` is None if the run has no optimizer step."""

    phases: frozenset[Phase]
    mode: Mode
    seed: int = 0
    rank: int = 0  # added to the seed of a target that is made up
    grad: bool = True
    loss: str = "probe"
    steps: int = 1
    backward: BackwardSpec = BackwardSpec()  # noqa: RUF009  # frozen
    optimizer: OptimizerSpec | None = None
    stepped_by_default: bool = False  # the user named no optimizer, so it is the default one
    where_it_can: bool = False  # without backward if nothing in the output requires grad
    norms: bool = False  # record norms of weights and gradients, and no other statistics
    flops: bool = True
    timings: bool = False
    memory: bool = False  # follow the bytes that are alive
    real_if_in_doubt: bool = False  # a real run follows a fake one that may be wrong
    autocast: str | None = None  # the dtype of torch.autocast
    compiled: bool = False  # as torch.compile compiled it, without hooks of modules
    digests: bool = False  # record digests of the results, to compare them with other runs

    @property
    def goes_backward(self) -> bool:
        """Whether the run has a backward pass."""
        return "backward" in self.phases


def _needed(hook: HookSpec) -> set[Phase]:
    """Return the phases that a run performs for a hook."""
    kind = CATALOGUE[hook.kind]
    return set(kind.needs or kind.phases)


def plan(spec: Spec) -> Plan:
    """Return the plan of a request.

    Raises
    ------
    RequestError : it needs a backward pass, but autograd is off.
    """
    phases: set[Phase] = {"build", "forward"}
    for hook in spec.hooks:
        phases |= _needed(hook)
    if spec.command == "check" and spec.run.grad and requests_probe(spec.probes, "backward"):
        phases |= {"loss", "backward"}
    if spec.command == "grads" or phases & {"backward", "optimizer"} or spec.run.steps > 1:
        phases |= {"loss", "backward"}
    run = spec.run
    if run.distributed is not None and run.distributed.nproc > 1:
        phases |= {"loss", "backward"}
    if run.optimizer is not None or run.steps > 1:
        phases |= {"optimizer", "loss", "backward"}
    if run.what_if and not run.grad:
        raise RequestError(
            "the memory of training requires autograd, which --no-grad disables",
            place=run.what_if[0].place,
            hint="remove `--no-grad`, or use `--memory` alone",
        )
    follows_memory = run.memory or bool(run.what_if)
    only_for_memory = follows_memory and run.grad and not phases & {"backward", "optimizer"}
    if only_for_memory:
        phases |= {"loss", "backward"}
    if "backward" in phases and not run.grad:
        raise RequestError(
            f"{spec.command} runs backward, which cannot be combined with --no-grad",
            place="--no-grad",
            hint="remove `--no-grad`, or the hooks and options that need backward",
        )
    return Plan(
        phases=frozenset(phases),
        mode=run.mode or ("train" if "backward" in phases else "eval"),
        seed=run.seed,
        rank=run.rank,
        grad=run.grad,
        loss=run.loss,
        steps=run.steps,
        norms=spec.command == "check",
        backward=run.backward,
        optimizer=(run.optimizer or OptimizerSpec()) if "optimizer" in phases else None,
        stepped_by_default=run.optimizer is None,
        flops=run.compiled is None
        and (
            (spec.command == "inspect" and spec.side is None)
            or run.flops
            or requests_probe(spec.probes, "flops")
        ),
        compiled=run.compiled is not None,
        where_it_can=only_for_memory or (spec.command == "check" and not phases & {"optimizer"}),
        memory=follows_memory,
        real_if_in_doubt=run.tensors == "auto",
        timings=spec.timings,
        digests=run.verify_neutral,
    )


def in_its_mode(
    settings: Plan, spec: Spec, exported: Literal["train", "eval", "mixed"] | None
) -> tuple[Plan, list[str]]:
    """Return the plan for a program exported in one mode, and a warning if --mode is another one.

    `exported` is None for a program that behaves the same in both modes, and for other models.
    """
    if exported is None:
        return settings, []
    mode = spec.run.mode
    settings = replace(settings, mode="as-is")
    if mode in {None, "as-is", exported}:
        return settings, []
    warning = f"--mode {mode} has no effect: the program was exported in {exported} mode"
    return settings, [warning]


def why_values(spec: Spec) -> str | None:
    """Return why a request needs real tensors; None if fake tensors are sufficient."""
    if spec.command == "grads":
        return "gradients require values"
    if spec.command == "check":
        return "rules check values"
    if spec.run.compiled is not None:
        return "compiled code runs on values"
    if spec.run.verify_neutral or spec.side is not None:
        return "values are compared"
    if spec.run.distributed is not None and spec.run.distributed.nproc > 1:
        return "ranks exchange values"
    if spec.timings:
        return "only real operators can be timed"
    if is_function(spec.run.loss):
        return "the loss is a user-defined function"
    named = named_loss(spec.run.loss)
    if named is not None and named.row.needs_values:
        return f"the loss {named.row.name} requires values"
    for hook in spec.hooks:
        if CATALOGUE[hook.kind].needs_values:
            return f"kind {hook.kind} requires values"
        for action in hook.actions:
            if ACTIONS[action.name].needs_values:
                return f"{action.name} requires values"
    if {"state_dict", "package", "optimizer"} & plan(spec).phases:
        return "saving and optimizer steps require values"
    return None


def unjudged(spec: Spec) -> list[str]:
    """Return a warning if the configuration has checks, and the command is not `check`."""
    if spec.command == "check" or not spec.checks:
        return []
    count = len(spec.checks)
    return [f"{counted(count, 'check')} not judged: run `hookcli check`"]
