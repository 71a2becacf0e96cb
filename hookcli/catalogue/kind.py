"""One kind of hook: a row of the catalogue."""

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
    "module", "every module", "tensor", "parameter", "node", "run", "optimizer", "CUDA graph",
    "package",
]  # fmt: skip
NamedBy: TypeAlias = Literal["module", "parameter"]


@dataclass(frozen=True, slots=True)
class AtRule:
    """What the `at` of a kind can select. Without `plain` the kind has no `at`.

    `plain` is what a name without a part means. `parts` are the values of a module's call that can
    be selected (input, output). `op` and `node` tell whether operators and autograd nodes can be
    selected. `everywhere` is the `at` that matches everything. With `parts_are_fixed` a hook at a
    part must return None, even if the kind's hooks may return a value elsewhere. `by_name` is the
    kind to use for named modules.
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
    """Whether a firing belongs to a call of a module, so that `calls` can select it."""

    NEVER = "never"
    AT_VALUES = "at values"  # at inputs, outputs and operators of a call, not at parameters
    ALWAYS = "always"


class Moment(Enum):
    """When a hook fires around a module's forward."""

    BEFORE_FORWARD = "before forward"
    AFTER_FORWARD = "after forward"


class Stage(Enum):
    """When a kind is attached during a run. This decides the arguments of its attach function.

    BUILD        (hook, stack): before the model is built
    MODEL        (hook, targets, attachments, stack): to the model, before it runs
    BACKWARD     (hooks): returns a tensor hook for the tensor that backward starts from
    OPTIMIZER    (hook, optimizer, names of parameters by id, stack): before its first step
    DISTRIBUTED  (hook, names of parameters by id): returns the function that averages a bucket
    PACKAGE      (root, hooks, patterns): packages the model
    """

    BUILD = "build"
    MODEL = "model"
    BACKWARD = "backward"
    OPTIMIZER = "optimizer"
    DISTRIBUTED = "distributed"
    PACKAGE = "package"


class Returned(Enum):
    """What a function of this kind may return in addition to None, if it may replace something."""

    VALUE = "value"  # replaces the value; gradients must keep their number, shapes and dtypes
    LIKE = "a tensor of the value's shape and dtype"
    TENSOR = "a tensor, if the value is one"
    ANYTHING = "anything"
    ENTRIES = "new values for entries of a state dict"
    ARGUMENTS = "(args, kwargs) of the call, which the value is not"


@dataclass(frozen=True, slots=True)
class LayerFigures:
    """The value whose statistics `stats` writes to a layer's row: a value or its gradient."""

    of: Literal["value", "gradient"]
    part: Literal["input", "output"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """A kind that cannot be attached at the same `at`, with the reason and the solution."""

    kind: str
    message: str
    hint: str


PYTHON_SOURCE = "remove the hook, or use the model's Python source"


@dataclass(frozen=True, slots=True)
class Lack:
    """Why a model of another format does not support a kind, and what to do."""

    why: str = "its format does not support this kind"
    hint: str = PYTHON_SOURCE


NO_GRADIENT = "no gradient reached it: the loss does not depend on it, or it does not require grad"


@dataclass(frozen=True, slots=True)
class KindFacts:
    """What users read about a kind. `hookcli list hooks -f json` prints these fields: a promise.

    `fires` continues the sentence "fires …"; its first sentence stands alone in tables. `phases`
    are those in which the kind can fire; a run performs the phases that its hooks need.
    `signature` is that of a function given to `call`. `value` is what actions read and change.
    `returns` tells what a returned value does, and `replaces` whether it can replace anything.
    `backends` are the model formats that support the kind.
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
    """One kind of hook: the facts for users, and those that the engine needs.

    Attributes
    ----------
    attach : the function that attaches it, "file:function" in hookcli/hooks/attach; `stage` tells
        with which arguments.
    registry : the attribute of its target in which torch keeps the hooks of this kind; `_global_…`
        is a variable of torch's module; "" if nothing lists them.
    full : the value of `_is_full_backward_hook` with which the registry contains hooks of this
        kind, as two kinds share one.
    example_run : the run settings that the example needs to fire, as YAML.
    at, calls : what `at` can select, and whether `calls` can select firings.
    in_all : its position in `--kinds all`. None: it changes the observed value or the run, and
        `all` does not include it.
    in_template : whether `hookcli init` shows its example.
    needs : the phases that a run performs for it, if they are not `phases`.
    process_wide : whether torch fires it for every module or optimizer of the process.
    moment : when it fires around a module's forward, once in every call.
    layer : which statistics of a layer's row it provides.
    returned : what its functions may return.
    pair : whether `call` accepts a pair of functions, pack and unpack.
    average : the communication hook that averages a bucket if no action does. Only kinds that have
        one support actions that average (`comm`, `call`).
    edits_in_place : whether its functions are meant to change the value in place.
    keeps_state : whether its functions get a state of the user's as an argument, which they may
        change.
    needs_gpu : whether it fires only on a GPU.
    is_rare : whether most people never need it: `hookcli list hooks` shows it last.
    wraps_values : whether torch makes the module's values views of a custom Function.
    may_break : whether a run can fail because of this hook although no action changes a value.
    conflicts : kinds that cannot be attached at the same `at`.
    lack : why other model formats do not support it.
    silence : the likely reason if it never fired; "" for the reason that its phases suggest.

    """

    attach: str
    registry: str = ""
    full: bool | None = None
    stage: Stage = Stage.MODEL
    example_run: str = ""
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
    needs_gpu: bool = False
    is_rare: bool = False
    wraps_values: bool = False
    may_break: bool = False
    conflicts: tuple[Conflict, ...] = ()
    lack: Lack = Lack()
    silence: str = ""

    @property
    def when(self) -> str:
        """The first sentence of `fires`: "after a module's forward"."""
        return self.fires.partition(". ")[0]

    @property
    def method(self) -> str:
        """The name of torch's method in `registers`: "register_forward_hook"."""
        return self.registers.partition("(")[0].rpartition(".")[2]

    @property
    def at_modules(self) -> bool:
        """Whether the target of an event is a module or an autograd node of a module."""
        return self.target in {"module", "every module", "node"}

    @property
    def why_silent(self) -> str:
        """The likely reason if a hook of this kind was attached and never fired."""
        if self.silence:
            return self.silence
        if "backward" in self.phases:
            return NO_GRADIENT
        return "the event did not occur, because the module never ran"
