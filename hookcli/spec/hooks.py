"""Hooks as plain data: when (the kind), where (the selector), what (the actions)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from hookcli.catalogue.actions import CATALOGUE as ACTIONS
from hookcli.spec.part import TensorPart

Part: TypeAlias = Literal["input", "output"]


@dataclass(frozen=True, slots=True)
class Match:
    """One condition on a target: it matches if all fields that are not None match.

    `pattern` is a case-sensitive glob on qualified names in which `*` also matches dots. `name` is
    an exact name. `regex` must match the whole name. With `part` the target is a module's input or
    output, and `path` selects tensors inside it: "" all of them, "[0]" or ".hidden[2]" those at or
    below that path. `op` is an operator ("aten.add"), `node` the name of an autograd node
    ("AddmmBackward0"), created inside the modules that match `inside`; `call` counts them from 0
    within one call.
    """

    pattern: str | None = None
    name: str | None = None
    regex: str | None = None
    type: str | None = None
    depth: int | None = None
    leaf: bool | None = None
    op: str | None = None
    node: str | None = None
    inside: Selector | None = None
    call: int | None = None
    negated: Selector | None = None
    part: Part | None = None
    path: str = ""


@dataclass(frozen=True, slots=True)
class Selector:
    """The targets of a hook: those that match any of the conditions.

    `text` is what the user wrote, and `texts` is the part of it for each condition.
    """

    any: tuple[Match, ...]
    text: str
    texts: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class StateRef:
    """The class or function that creates the state of a communication hook, and its arguments."""

    function: str
    args: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FunctionRef:
    """A function of the user's: "f.py:name", "package.module:name" or "torch.ops.ns.name".

    `signature` "event" is `f(event) -> value | None` for any kind; "native" is PyTorch's own.
    `state` describes the first argument of a communication hook, if it has one.
    """

    function: str
    signature: Literal["native", "event"] = "native"
    state: StateRef | None = None


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One action with its argument: a number, a (low, high) pair, a path, a mapping, FunctionRefs.

    The argument of `call` is a FunctionRef, or {"pack": FunctionRef, "unpack": FunctionRef} for
    saved_tensors. That of `comm` is {"name": ..., **state}, or for a wrapper {"name": ...,
    "around": the argument of another `comm`, or a FunctionRef}. Paths are absolute. `part` is the
    part of each tensor that the action changes; None for all of it.
    """

    name: str
    argument: Any = None
    place: str = ""
    part: TensorPart | None = None


def is_average(action: ActionSpec) -> bool:
    """Return whether an action averages a bucket of gradients, and does not only read it."""
    theirs = isinstance(action.argument, FunctionRef) and action.argument.signature == "native"
    return ACTIONS[action.name].averages or theirs


@dataclass(frozen=True, slots=True)
class HookSpec:
    """One hook of one kind. A list of kinds in YAML becomes several of these with one `index`.

    `calls` and `steps` are the numbers of a module's calls and of steps, None for all. `every` n
    selects every n-th firing per target. `root` selects the roots of a training by a pattern of
    their names, or by type; None selects all. `place` is "hooks.yaml:14: hooks[2]".
    """

    index: int
    kind: str
    at: Selector | None = None
    calls: tuple[int, ...] | None = None
    steps: tuple[int, ...] | None = None
    every: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    actions: tuple[ActionSpec, ...] = ()
    place: str = ""
    root: Match | None = None


OPTIMIZERS = (  # the classes of torch.optim
    "ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam",
    "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class OptimizerSpec:
    """An optimizer of torch.optim by name ("SGD"), with its keyword arguments."""

    name: str = "SGD"
    options: dict[str, Any] = field(default_factory=lambda: {"lr": 0.01})


@dataclass(frozen=True, slots=True)
class PackagePattern:
    """What torch.package does with Python modules that a glob matches. The first match decides."""

    action: Literal["extern", "intern", "mock"]
    pattern: str
    place: str


@dataclass(frozen=True, slots=True)
class BackwardSpec:
    """How to run backward. `gradient` is a nested list of numbers, or a string as for `--input`.

    With `inputs` (globs of parameters, or `module:output`) torch.autograd.grad computes the
    gradients with respect to those, and nothing is added to .grad.
    """

    gradient: Any = None
    times: int = 1
    retain_graph: bool | None = None
    create_graph: bool = False
    inputs: tuple[str, ...] = ()
