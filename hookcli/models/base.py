"""The seam between a model and everything that looks at it.

A backend (eager, TorchScript, exported) names its modules and parameters and reports each call;
recording, statistics and actions are written once on top.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import torch

from hookcli.models.recompute import Pass, Passes
from hookcli.report.recording import ModuleInfo


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """A parameter or buffer under its first qualified name."""

    name: str
    aliases: tuple[str, ...]
    module_type: str
    tensor: torch.Tensor


@dataclass(slots=True)
class Call:
    """One call of a module, while it runs and after. `parent` is an `order`."""

    order: int
    key: int  # identity of the module, the same for all its calls
    name: str | None
    type: str
    original_name: str | None
    index: int
    parent: int | None
    depth: int
    training: bool
    place: str | None
    recomputed: bool
    module: Any  # the running instance
    entered: bool = False  # its inputs were seen
    graded: bool = True  # gradients come to what it gives: not so in the throw-away pass of two
    sequence: int = 0  # torch's number of the next autograd node when it began
    outer: BaseException | None = None  # being handled when the call began
    site: Any = None  # where its module's hooks fire: made by the first of them
    kwargs_seen: bool = True  # False: keyword inputs come with `leave`, in `late`
    late: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


Enter: TypeAlias = Callable[[Call, tuple[tuple[Any, ...], dict[str, Any]]], Any]
Exit: TypeAlias = Callable[[Call, Any, BaseException | None], Any]


class Model(Protocol):
    """A built model of any format."""

    root: torch.nn.Module
    wrapper: torch.nn.Module | None  # called in the root's place, and no part of the model

    def modules(self) -> tuple[ModuleInfo, ...]:
        """Registered modules in the order of `named_modules`."""
        ...

    def parameters(self) -> tuple[TensorInfo, ...]:
        """Distinct parameters in the order of `named_parameters`."""
        ...

    def buffers(self) -> tuple[TensorInfo, ...]:
        """Distinct buffers in the order of `named_buffers`."""
        ...

    def place(self, name: str) -> str | None:
        """The constructor's line of a registered module."""
        ...

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """One forward."""
        ...

    def observe(
        self,
        enter: Enter,
        leave: Exit,
        *,
        calls: CallStack | None = None,
        between: AbstractContextManager[Any] | None = None,
    ) -> AbstractContextManager[None]:
        """Call `enter` and `leave` around every module's forward while the context is open.

        `leave` gets the output, or the exception that ended the call. Neither may replace a value.
        `calls` numbers the calls. `between` attaches hooks that may: they run while their call is
        the running one, and `enter` and `leave` see what they made of its values.
        """
        ...


class CallStack:
    """Numbers calls and knows which one is running, on every thread."""

    def __init__(self) -> None:
        self._next = 0
        self._counts: dict[int, int] = {}
        self._passes = Passes()
        self._lock = threading.Lock()
        self._local = threading.local()
        self._main: list[Call] = self._local.__dict__.setdefault("stack", [])

    def restart(self) -> None:
        """Count the calls of each module from 0 again: another step begins, and nothing runs."""
        self._counts.clear()
        self._passes = Passes()
        self._stack().clear()  # what a KeyboardInterrupt ended was not told of it

    def forget_passes(self) -> None:
        """Nothing that ran so far will be run again in backward."""
        self._passes = Passes()

    def _stack(self) -> list[Call]:
        stack: list[Call] | None = getattr(self._local, "stack", None)
        if stack is None:
            stack = self._local.stack = []
        return stack

    def running(self) -> Call | None:
        """The innermost running call; on a fresh thread, that of the thread that ran the model."""
        stack = self._stack() or self._main
        return stack[-1] if stack else None

    def enter(self, module: Any, name: str | None) -> Call:
        """Begin a call of `module`."""
        key = id(module)
        parent = self.running()
        within = None if parent is None else parent.order
        first = self._passes.of_recomputation(key, within)
        with self._lock:
            order = self._next
            self._next += 1
            if first is None:
                index = self._counts.get(key, -1) + 1
                self._counts[key] = index
            else:
                index = first.index
        graded = torch.is_grad_enabled()
        call = Call(
            order=order,
            key=key,
            name=name,
            type=type(module).__name__,
            original_name=None,
            index=index,
            parent=within,
            depth=0 if parent is None else parent.depth + 1,
            training=bool(module.training),
            place=None,
            recomputed=first is not None,
            module=module,
            graded=graded and (first is None or not first.graded),
            sequence=torch._C._autograd._get_sequence_nr(),
        )
        self._passes.note(Pass(key, order, index, within, call.sequence, graded), again=first)
        self._stack().append(call)
        return call

    def forget(self, call: Call) -> None:
        """Take back a call that has ended and never started: a hook before its forward raised."""
        with self._lock:
            if call.order == self._next - 1:
                self._next -= 1
                self._counts[call.key] = call.index - 1

    def leave(self, key: int) -> Call | None:
        """End the innermost call of `key`; frames above it that never ended are dropped."""
        stack = self._stack()
        for i in range(len(stack) - 1, -1, -1):
            if stack[i].key == key:
                call = stack[i]
                del stack[i:]
                return call
        return None
