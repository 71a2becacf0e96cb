"""What hookcli knows of one kind of hook: a row of the catalogue."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, TypeAlias

Phase: TypeAlias = Literal[
    "build", "forward", "loss", "backward", "optimizer", "state_dict", "package"
]
PHASES: tuple[Phase, ...] = (
    "build", "forward", "loss", "backward", "optimizer", "state_dict", "package",
)  # fmt: skip
Target: TypeAlias = Literal[
    "module", "every module", "tensor", "parameter", "node", "run", "optimizer", "package"
]
NamedBy: TypeAlias = Literal["module", "parameter"]


@dataclass(frozen=True, slots=True)
class AtRule:
    """What a kind's `at` may name. Without `plain` the kind takes no `at`.

    `plain` is what a bare name means, `parts` those of a module's call that may be named (input,
    output), `op` and `node` whether operators and autograd nodes may. `everywhere` is the `at` that
    names all there is. With `parts_are_fixed` a hook at a part may return nothing, whatever the
    kind's hooks may elsewhere. `by_name` is the kind to take for modules that are named.
    """

    plain: NamedBy | None = None
    required: bool = False
    parts: tuple[str, ...] = ()
    op: bool = False
    node: bool = False
    everywhere: str = "*"
    parts_are_fixed: bool = False
    by_name: str = ""


class InCalls(Enum):
    """Whether a firing belongs to a call of a module, so that `calls` can choose it."""

    NEVER = "never"
    AT_VALUES = "at values"  # of a call: its inputs, its outputs, its operators; not at parameters
    ALWAYS = "always"


class Moment(Enum):
    """When a hook fires around a module's forward."""

    BEFORE_FORWARD = "before forward"
    AFTER_FORWARD = "after forward"


class Stage(Enum):
    """When in a run a kind is attached, which decides what its attach function is given.

    BUILD        (hook, stack): before the model is built
    MODEL        (hook, targets, attachments, stack): to the model, before it runs
    BACKWARD     (hooks): gives a tensor hook, registered on what backward starts from
    OPTIMIZER    (hook, optimizer, names of parameters by id, stack): before its first step
    DISTRIBUTED  (hook, names of parameters by id): gives what averages a bucket
    PACKAGE      (root, hooks, patterns): packages the model
    """

    BUILD = "build"
    MODEL = "model"
    BACKWARD = "backward"
    OPTIMIZER = "optimizer"
    DISTRIBUTED = "distributed"
    PACKAGE = "package"


class Returned(Enum):
    """What a function of this kind may return, beside None, where it may replace something."""

    VALUE = "value"  # what stands in the value's place; of gradients as many, and alike
    LIKE = "a tensor of the value's shape and dtype"
    TENSOR = "a tensor, where the value is one"
    ANYTHING = "anything"
    ENTRIES = "new values for entries of a state dict"
    ARGUMENTS = "(args, kwargs) of the call, which the value is not"


@dataclass(frozen=True, slots=True)
class LayerFigures:
    """Which figures of a layer's row the action `stats` gives: of a value, or of its gradient."""

    of: Literal["value", "gradient"]
    part: Literal["input", "output"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """A kind that cannot be attached at the same `at`: why, and the way out."""

    kind: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Lack:
    """Why a model of another format cannot have a kind, and what to do."""

    why: str = "it has no place for it"
    hint: str = "leave the hook out, or name the Python source"


NO_GRADIENT = "no gradient came there: the loss does not reach it, or it does not require grad"


@dataclass(frozen=True, slots=True)
class KindFacts:
    """What users are told of a kind, and `hookcli list hooks -f json` prints: a promise.

    `phases` are those in which it can fire; a run performs the phases that its hooks need.
    `signature` is that of a function given to `call`; `value` is what actions see and change.
    `returns` says what a returned value does; `replaces` whether one can replace anything.
    `backends` are the formats of models that have it.
    """

    name: str
    family: str
    target: Target
    fires: str
    phases: tuple[Phase, ...]
    registers: str
    signature: str
    value: str
    returns: str
    replaces: bool
    example: str
    caveats: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    backends: tuple[str, ...] = ("python",)
    needs_values: bool = False
    since: str = "2.0"

    def facts(self) -> dict[str, Any]:
        """These fields by name."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(KindFacts)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind(KindFacts):
    """One kind of hook, as users and the engine need to know it.

    Attributes
    ----------
    attach : what attaches it, "file:function" in hookcli/hooks/attach; `stage` says with what.
    at, calls : what `at` may name, and whether `calls` can choose firings.
    in_all : its place among those of `--kinds all`; None: it changes what it looks at, or the run,
        and is left out.
    in_template : `hookcli init` shows its example.
    needs : the phases that a run performs for it, where they are not `phases`.
    process_wide : torch fires it for every module or optimizer of the process.
    moment : where it fires around a module's forward, once in every call.
    layer : what its figures are in a layer's row.
    returned : what its functions may return.
    pair : `call` takes a pair of functions, pack and unpack.
    average : the communication hook that averages where no action does; the kind is then one whose
        `comm` and `call` average buckets.
    edits_in_place : changing the value in place is how its functions are meant to work.
    keeps_state : its functions have a state of the user's as an argument, which they may change.
    wraps_values : torch makes the module's values views of a function of its own.
    may_break : a run can fail with it that does well without, though no action changes a value.
    conflicts : kinds that cannot be attached at the same `at`.
    lack : why other formats of models do not have it.
    silence : the likely reason where it never fired; "" for that of its phases.

    """

    attach: str
    stage: Stage = Stage.MODEL
    at: AtRule = AtRule()
    calls: InCalls = InCalls.NEVER
    in_all: int | None = None
    in_template: bool = False
    needs: tuple[Phase, ...] = ()
    process_wide: bool = False
    moment: Moment | None = None
    layer: LayerFigures | None = None
    returned: Returned = Returned.VALUE
    pair: bool = False
    average: str | None = None
    edits_in_place: bool = False
    keeps_state: bool = False
    wraps_values: bool = False
    may_break: bool = False
    conflicts: tuple[Conflict, ...] = ()
    lack: Lack = Lack()
    silence: str = ""

    @property
    def method(self) -> str:
        """The name of torch's method in `registers`: "register_forward_hook"."""
        return self.registers.partition("(")[0].rpartition(".")[2]

    @property
    def at_modules(self) -> bool:
        """Whether an event's target is a module, or one of a module's nodes."""
        return self.target in {"module", "every module", "node"}

    @property
    def why_silent(self) -> str:
        """The likely reason where a hook of this kind was attached and never fired."""
        if self.silence:
            return self.silence
        if "backward" in self.phases:
            return NO_GRADIENT
        return "what it waits for did not happen: the module never ran"
