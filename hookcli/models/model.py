"""The interface between a model and everything that observes it.

A backend (eager, TorchScript, exported) lists its modules and parameters and reports each call;
recording, statistics and actions are written once for all backends. A `CallStack` numbers the
calls; `_ForwardPasses` finds the call that a recomputation repeats.
"""

from __future__ import annotations

import inspect
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol, TypeAlias

import torch
import torch.utils.checkpoint

from hookcli.report.recording import ModuleInfo
from hookcli.torch_private import (
    current_autograd_node,
    current_graph_task_id,
    next_sequence_nr,
    top_saved_tensors_hooks,
)


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """A parameter or buffer under its first qualified name."""

    name: str
    aliases: tuple[str, ...]
    module_type: str
    tensor: torch.Tensor


@dataclass(slots=True)
class Call:
    """One call of a module, while it runs and after. `parent` is the `order` of another call.

    One is made for every call of a loop that may run for days: what only few calls need is created
    on demand.
    """

    order: int
    key: int  # identity of the module, the same for all its calls
    name: str | None
    type: str
    index: int
    parent: int | None
    depth: int
    training: bool
    recomputed: bool
    module: Any  # the running instance
    graded: bool  # gradients reach its output: not so in the discarded pass of a checkpoint
    sequence: int  # torch's number of the next autograd node, when the call began
    place: str | None = None
    original_name: str | None = None
    entered: bool = False  # its inputs were seen
    outer: BaseException | None = None  # the exception that was being handled when the call began
    site: Any = None  # where its module's hooks fire: created by the first of them
    kwargs_seen: bool = True  # False: keyword inputs come with `leave`, in `late`
    late: dict[str, Any] | None = None
    notes: list[str] | None = None
    segment: _Segment | None = None  # the checkpoint that it ran in
    inlined: bool = False  # compiled code calls a wrapper of torch.compile, and skips it
    repeats: int = 0  # how often a checkpoint recomputed it

    def note(self, text: str) -> None:
        """Add a note about it to the report."""
        if self.notes is None:
            self.notes = []
        self.notes.append(text)


# Recomputed calls. Activation checkpointing runs modules again in backward. Such a call gets the
# number of the call that it repeats, and gradients reach only one of the two: the second if the
# first ran without grad (use_reentrant=True), else the first.

_Segment: TypeAlias = weakref.ref[
    Any
]  # equals any other reference to the same frame, dead or alive
_CHECKPOINT = torch.utils.checkpoint.__file__


def _innermost() -> tuple[bool, _Segment | None]:
    """Return whether saved-tensor hooks are active, and the checkpoint to which they belong."""
    if top_saved_tensors_hooks is None:
        segment = _segment_on_stack()
        return segment is not None, segment
    top = top_saved_tensors_hooks(True)
    return top is not None, _segment(top)


def _segment_on_stack() -> _Segment | None:
    """Return the same as `_segment` where torch does not tell which hooks are active.

    The frame of a checkpoint that runs is a local variable of a generator, which is one of
    `checkpoint`. That of a checkpoint that is recomputed is a variable of `unpack_hook`.
    """
    caller: FrameType | None = sys._getframe(1)
    while caller is not None:
        code = caller.f_code
        if code.co_filename == _CHECKPOINT:
            frame: Any = None
            if code.co_name == "unpack_hook":
                frame = caller.f_locals.get("frame")
            elif code.co_name == "checkpoint" and inspect.isgenerator(caller.f_locals.get("gen")):
                inside = caller.f_locals["gen"].gi_frame
                frame = None if inside is None else inside.f_locals.get("new_frame")
            if frame is not None:
                return weakref.ref(frame)
        caller = caller.f_back
    return None


def lost_checkpoint() -> FrameType | None:
    """Return the frame of a reentrant checkpoint that runs, if none of its inputs requires grad.

    Autograd never calls its backward, which would run the modules again with gradients.
    """
    caller: FrameType | None = sys._getframe(1)
    while caller is not None:
        code = caller.f_code
        if code.co_filename == _CHECKPOINT and code.co_name == "forward":
            given = caller.f_locals.get("args", ())
            graded = any(isinstance(one, torch.Tensor) and one.requires_grad for one in given)
            return None if graded else caller
        caller = caller.f_back
    return None


def _segment(top: tuple[Any, Any] | None) -> _Segment | None:
    """Return the frame of the checkpoint that runs or is recomputed (use_reentrant=False).

    This relies on a private detail of torch's checkpoint: its saved-tensor hooks are closures over
    the frame, or over a weak reference to it.
    """
    pack: Any = None if top is None else inspect.unwrap(top[0])
    if getattr(pack, "__module__", "") != "torch.utils.checkpoint":
        return None  # other saved-tensor hooks do not belong to a checkpoint
    names = pack.__code__.co_freevars
    cells = {name: cell.cell_contents for name, cell in zip(names, pack.__closure__, strict=True)}
    frame = cells.get("frame")
    return cells.get("target_frame_ref") if frame is None else weakref.ref(frame)


def _node_sequence() -> int | None:
    """Return the sequence number of the autograd node that is running."""
    node: Any = current_autograd_node()
    return None if node is None else int(node._sequence_nr())


class _ForwardPasses:
    """The calls of one forward, and those that repeat them."""

    def __init__(self) -> None:
        self._by_key: dict[int, list[Call]] = {}
        self._first_of: dict[int, Call] = {}  # order of a recomputed call → the first call

    def note(self, call: Call, again: Call | None) -> None:
        """Note that a call begins; `again` is the call that it repeats, if any.

        A checkpoint runs its calls without grad, or under saved-tensor hooks: no other call is
        repeated. A nested checkpoint runs its calls without grad once more when the outer one is
        recomputed.
        """
        if again is not None:
            self._first_of[call.order] = again
            if not torch.is_grad_enabled():
                self._by_key.setdefault(call.key, []).append(call)
            return
        hooked, segment = _innermost()
        if hooked:
            call.segment = segment
        elif call.graded:
            return
        known = self._by_key.get(call.key)
        if known is None:
            self._by_key[call.key] = [call]
        else:
            known.append(call)

    def of_recomputation(self, key: int, within: int | None) -> Call | None:
        """Return the call that a call of the module `key`, which begins now, repeats; or None."""
        known = self._by_key.get(key)
        if not known:
            return None
        caller = None if within is None else self._first_of.get(within)
        if caller is not None:
            candidates = [call for call in known if call.parent == caller.order]
        else:
            candidates = self._of_segment(known)
        if not candidates:
            return None
        fewest = min(call.repeats for call in candidates)
        first = next(call for call in candidates if call.repeats == fewest)
        first.repeats += 1
        return first

    def _of_segment(self, known: list[Call]) -> list[Call]:
        """Return the calls of the checkpoint whose backward is running."""
        _, again = _innermost()
        exact = [call for call in known if again is not None and call.segment == again]
        if exact:
            return exact
        sequence = _node_sequence()
        if sequence is None:
            return known
        # Without grad no nodes are created: calls of a reentrant checkpoint follow its node.
        inside = [call for call in known if not call.graded and call.sequence == sequence + 1]
        if inside:
            return inside
        before = [call for call in known if call.sequence <= sequence and call.segment is not None]
        if not before:
            return [call for call in known if call.sequence <= sequence] or known
        last = before[-1].segment
        return [call for call in before if call.segment == last]


_in_backward: Callable[[], int] = current_graph_task_id  # -1 if none runs
_next_node: Callable[[], int] = next_sequence_nr

CallInputs: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]
"""The positional and keyword arguments of a call."""

Enter: TypeAlias = Callable[[Call, CallInputs], Any]
Exit: TypeAlias = Callable[[Call, Any, BaseException | None], Any]


class Model(Protocol):
    """A built model of any format."""

    root: torch.nn.Module
    wrapper: torch.nn.Module | None  # called instead of the root, and not part of the model

    @property
    def state_in_python(self) -> bool:
        """Whether a module's whole state is in its Python attributes, and so can be restored."""
        ...

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
        """The line that constructed a registered module."""
        ...

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run one forward."""
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
        `calls` numbers the calls. `between` attaches hooks that may replace values: they run while
        their call is the innermost one, and `enter` and `leave` see the replaced values.
        """
        ...


class _Local(threading.local):
    """The calls that run on one thread, the innermost last.

    Python forgets the data of a thread that it has not started whenever it returns to C++. `known`
    has the calls of such threads.
    """

    skipped = 0  # calls that run and are not observed

    def __init__(self, known: dict[int, list[Call]]) -> None:
        self.stack: list[Call] = known.get(threading.get_ident(), [])


def _is_raised(_error: Exception) -> bool:
    return False


class CallStack:
    """Number the calls and know which one is running, on every thread.

    With `placed`, each call's place in the source is looked up. `failed` gets an error of an
    observer of calls and returns whether it is dealt with; otherwise the error is raised. Once it
    is `full`, calls that begin are not observed, until the next step.
    """

    def __init__(self) -> None:
        self.placed = True
        self.full = False
        self.failed: Callable[[Exception], bool] = _is_raised
        self._next = 0
        self._counts: dict[int, int] = {}
        self._passes = _ForwardPasses()
        self._lock = threading.Lock()
        self._threads: dict[int, list[Call]] = {}  # of threads that C++ started, by identity
        self._local = _Local(self._threads)
        self._main = self._local.stack

    def restart(self) -> None:
        """Count the calls of each module from 0 again: a new step begins, and nothing runs."""
        self._counts.clear()
        self._passes = _ForwardPasses()
        self._local.stack.clear()  # calls that a KeyboardInterrupt ended are still on it
        self._local.skipped = 0
        self.full = False

    def skip(self) -> None:
        """Begin a call that is not observed."""
        self._local.skipped += 1

    def skips(self) -> bool:
        """Return whether a call that is not observed runs on this thread."""
        return self._local.skipped > 0

    def end_skipped(self) -> bool:
        """End a call that is not observed; return whether one was running on this thread."""
        local = self._local
        if not local.skipped:
            return False
        local.skipped -= 1
        return True

    def here(self) -> list[Call]:
        """The calls that run on this thread, the innermost last."""
        return self._local.stack

    def is_main(self) -> bool:
        """Whether this is the thread that runs the model."""
        return self._local.stack is self._main

    def adopt(self, calls: list[Call]) -> None:
        """Let this thread go on with these running calls: code in C++ changes threads."""
        stack = self._local.stack
        stack[:] = calls
        if stack is not self._main:
            self._threads[threading.get_ident()] = stack

    def leave_threads(self) -> None:
        """Forget the calls of threads that C++ started."""
        for stack in self._threads.values():
            stack.clear()
        self._threads.clear()

    def drop(self, call: Call) -> None:
        """End a call, and those in it, on the thread that runs the model."""
        if call in self._main:
            del self._main[self._main.index(call) :]

    def forget_passes(self) -> None:
        """Forget the calls so far: backward will not recompute them."""
        self._passes = _ForwardPasses()

    def running(self) -> Call | None:
        """The innermost running call; on a new thread, that of the thread that runs the model."""
        stack = self._local.stack or self._main
        return stack[-1] if stack else None

    def enter(self, module: Any, name: str | None) -> Call:
        """Begin a call of `module`."""
        key = id(module)
        stack = self._local.stack
        outer = stack or self._main
        parent, within, depth = None, None, 0
        if outer:
            parent = outer[-1]
            within, depth = parent.order, parent.depth + 1
        first = self._passes.of_recomputation(key, within) if _in_backward() != -1 else None
        with self._lock:
            order = self._next
            self._next = order + 1
            if first is None:
                index = self._counts[key] = self._counts.get(key, -1) + 1
            else:
                index = first.index
        graded = torch.is_grad_enabled()
        call = Call(  # by position, which takes half the time
            order,
            key,
            name,
            type(module).__name__,
            index,
            within,
            depth,
            bool(getattr(module, "training", False)),  # frozen scripted modules lack it
            first is not None,
            module,
            graded and (first is None or not first.graded),
            _next_node(),
        )
        self._passes.note(call, first)
        stack.append(call)
        return call

    def forget(self, call: Call) -> None:
        """Undo a call that ended before it started: a hook before its forward raised."""
        with self._lock:
            if call.order == self._next - 1:
                self._next -= 1
                self._counts[call.key] = call.index - 1

    def leave(self, key: int) -> Call | None:
        """End the innermost call of `key`; calls above it that never ended are dropped."""
        stack = self._local.stack
        if stack and stack[-1].key == key:
            return stack.pop()
        for i in range(len(stack) - 1, -1, -1):
            if stack[i].key == key:
                call = stack[i]
                del stack[i:]
                return call
        return None
