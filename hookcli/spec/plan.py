"""What a request asks of a run: which phases, in which mode, and whether with values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from hookcli.catalogue.actions import CATALOGUE as ACTIONS
from hookcli.catalogue.kind import Phase
from hookcli.catalogue.kinds import CATALOGUE
from hookcli.errors import RequestError
from hookcli.spec.hooks import BackwardSpec, HookSpec, OptimizerSpec
from hookcli.spec.request import Mode, Spec


@dataclass(frozen=True, slots=True)
class Plan:
    """How to run a model. `optimizer` is None where the run takes no step with one."""

    phases: frozenset[Phase]
    mode: Mode
    seed: int = 0
    grad: bool = True
    loss: str = "probe"
    steps: int = 1
    backward: BackwardSpec = BackwardSpec()  # noqa: RUF009  # frozen
    optimizer: OptimizerSpec | None = None
    stepped_by_default: bool = False  # the optimizer is ours, as none was named
    where_it_can: bool = False  # no backward where nothing in the output requires grad
    norms: bool = False  # of weights and gradients, no other figure
    flops: bool = True
    timings: bool = False
    digests: bool = False  # of what the run leaves, to compare with other runs

    @property
    def goes_backward(self) -> bool:
        """Whether there is a backward pass."""
        return "backward" in self.phases


def _needed(hook: HookSpec) -> set[Phase]:
    """The phases that a run performs for a hook."""
    kind = CATALOGUE[hook.kind]
    return set(kind.needs or kind.phases)


def plan(spec: Spec) -> Plan:
    """The plan of a request.

    Raises
    ------
    RequestError : it wants a backward pass without autograd.
    """
    phases: set[Phase] = {"build", "forward"}
    for hook in spec.hooks:
        phases |= _needed(hook)
    if spec.command == "check" and spec.run.grad and "backward" in spec.probes:
        phases |= {"loss", "backward"}
    if spec.command == "grads" or phases & {"backward", "optimizer"} or spec.run.steps > 1:
        phases |= {"loss", "backward"}
    run = spec.run
    if run.distributed is not None and run.distributed.nproc > 1:
        phases |= {"loss", "backward"}
    if run.optimizer is not None or run.steps > 1:
        phases |= {"optimizer", "loss", "backward"}
    if "backward" in phases and not run.grad:
        raise RequestError(
            f"{spec.command} goes backward here, which --no-grad forbids",
            place="--no-grad",
            hint="leave one of the two out",
        )
    return Plan(
        phases=frozenset(phases),
        mode=run.mode or ("train" if "backward" in phases else "eval"),
        seed=run.seed,
        grad=run.grad,
        loss=run.loss,
        steps=run.steps,
        norms=spec.command == "check",
        backward=run.backward,
        optimizer=(run.optimizer or OptimizerSpec()) if "optimizer" in phases else None,
        stepped_by_default=run.optimizer is None,
        flops=(spec.command == "inspect" and spec.side is None)
        or run.flops
        or "flops" in spec.probes,
        where_it_can=spec.command == "check" and not phases & {"optimizer"},
        timings=spec.timings,
        digests=run.verify_neutral,
    )


def in_its_mode(
    settings: Plan, spec: Spec, exported: Literal["train", "eval", "mixed"] | None
) -> tuple[Plan, list[str]]:
    """The plan for a program that was exported in one mode; a warning where another was asked for.

    None is a program that acts alike in both, and every model that is no such program.
    """
    if exported is None:
        return settings, []
    asked = spec.run.mode
    settings = replace(settings, mode="as-is")
    if asked in {None, "as-is", exported}:
        return settings, []
    told = f"--mode {asked} changes nothing: the program was exported in {exported} mode"
    return settings, [told]


def why_values(spec: Spec) -> str | None:
    """Why fake tensors would not do for a request; None where they may."""
    if spec.command == "grads":
        return "gradients have values"
    if spec.command == "check":
        return "values are judged"
    if spec.run.verify_neutral or spec.side is not None:
        return "values are compared"
    if spec.run.distributed is not None and spec.run.distributed.nproc > 1:
        return "ranks exchange values"
    if spec.timings:
        return "times are those of real operators"
    if spec.run.loss not in {"probe", "sum", "mean"} and not spec.run.loss.startswith("output:"):
        return "the loss is a function of the user's"
    for hook in spec.hooks:
        if CATALOGUE[hook.kind].needs_values:
            return f"{hook.kind} works on values"
        for action in hook.actions:
            if ACTIONS[action.name].needs_values:
                return f"{action.name} needs values"
    if {"state_dict", "package", "optimizer"} & plan(spec).phases:
        return "what is saved or stepped has values"
    return None


def unjudged(spec: Spec) -> list[str]:
    """A warning where the configuration asks for checks, and another command runs."""
    if spec.command == "check" or not spec.checks:
        return []
    count = len(spec.checks)
    return [f"checks: {count} asked for and not judged: hookcli check judges them"]
