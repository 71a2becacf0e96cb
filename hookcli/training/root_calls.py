"""The calls of roots: finds the modules that a script calls, and tells when their calls run.

Hooks on all modules see the first calls. While the only root runs and its step is not sampled, a
hook at its end takes their place.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

from hookcli.hooks.portable import Portable
from hookcli.report.sinks import Sink
from hookcli.spec.training import RunJob
from hookcli.torch_private import (
    current_graph_task_id,
    log_api_usage_once,
    peek_interpreter_stack,
    set_api_usage,
)
from hookcli.training.backward import BackwardPass
from hookcli.training.guard import Guard
from hookcli.training.observed_script import ObservedScript
from hookcli.training.root_watch import RootWatch
from hookcli.training.roots import unwrap
from hookcli.training.selection.sampling import is_limited

_COMPILING = ("torch.compile", "torch._dynamo.optimize")
_MOST_FOR_SAMPLES = 1 << 24  # elements of the gradient of an output that tell of samples
_OPTIMIZER = "python.optimizer"  # what the constructor of each optimizer tells


class SwitchedHooks:
    """Registered hooks, by their handles. They are on until `off`, and again after `on`.

    Each entry is one that a handle would remove: a dictionary of hooks of PyTorch's, the number of
    the handle, and the hook, or a flag of it.
    """

    def __init__(self, handles: Iterable[Any]) -> None:
        self._entries: list[tuple[dict[int, Any], int, Any]] = []
        self._removals: list[tuple[Callable[[int, None], Any], int]] = []
        for handle in handles:
            for reference in (handle.hooks_dict_ref, *handle.extra_dict_ref):
                hooks = reference()
                if hooks is not None and handle.id in hooks:
                    self._entries.append((hooks, handle.id, hooks[handle.id]))
                    self._removals.append((hooks.pop, handle.id))
        self.is_on = True

    def on(self) -> None:
        """Put the hooks back, behind the other ones."""
        self.is_on = True
        for hooks, key, value in self._entries:
            hooks[key] = value

    def off(self) -> None:
        """Remove the hooks."""
        self.is_on = False
        for remove, key in self._removals:
            remove(key, None)

    def are_in(self, hooks: Any) -> bool:
        """Return whether this is the dictionary of the first hook: a script may replace it."""
        return bool(self._entries) and self._entries[0][0] is hooks


class _Depth(threading.local):
    """The number of running calls on a thread."""

    def __init__(self) -> None:
        self.calls = 0


class _RootEnds(Portable, guarded=True):
    """The hook at the end of a root's call; a copy of the root has it too."""

    def __init__(self, calls: RootCalls) -> None:
        self._ended = calls.guarded(calls.root_ended)

    def __call__(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        """Tell that the call ended; PyTorch calls this."""
        self._ended(module, args, output)


class RootCalls:
    """Finds the roots of a script and notes their calls.

    `forward_begins` and `backward_begins` are called as RootWatch tells. `constructed` is called
    with an optimizer when its constructor begins, `compiling` when the script compiles first, and
    `compiled` each time, with what it compiles.
    """

    def __init__(
        self,
        seen: ObservedScript,
        guard: Guard,
        *,
        forward_begins: Callable[[RootWatch], int | None],
        backward_begins: Callable[[RootWatch], BackwardPass],
        constructed: Callable[[Any, FrameType], None],
        compiling: Callable[[], None],
        compiled: Callable[[Any], None],
        sink: Sink | None,
    ) -> None:
        self._seen, self._guard, self._sink = seen, guard, sink
        self._constructed, self._compiling = guard(constructed, always=True), compiling
        self._compiled = compiled
        # Compiled code runs as written in the steps that are observed, where there are hooks.
        self._sees_through = seen.job.training.compiled == "eager-samples"
        self._forward_begins, self._backward_begins = forward_begins, backward_begins
        self._depth = _Depth()
        self._hooks: SwitchedHooks | None = None  # on all modules
        self._guarded_begin = guard(self._call_begins)
        self._guarded_end = guard(self._call_ends)
        self._root_ends = _RootEnds(self)
        self._inside: RootWatch | None = None  # a root whose end is hooked
        self._end_hook: SwitchedHooks | None = None  # of the root that was hooked last
        self._api_usage: Any = None  # PyTorch's function
        # Those called outermost, without parameters to train.
        self._skipped: dict[int, weakref.ref[nn.Module]] = {}
        self.before_root: Callable[[], None] = lambda: None  # is called before a root is added

    def guarded(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function so that an error in it ends the observation, not the script."""
        return self._guard(function)

    def start(self) -> None:
        """Attach the hooks on all modules, and notice calls of torch.compile."""
        self.hook()
        self._notice_compiling()

    @property
    def are_running(self) -> bool:
        """Whether a call runs on this thread, as far as PyTorch has told."""
        return self._inside is not None or self._depth.calls > 0

    def _notice_compiling(self) -> None:
        """Notice the calls of torch.compile and torch._dynamo.optimize, before they do anything.

        Both tell the name of their API first. So no frame of hookcli is in a traceback of theirs.
        """
        original: Any = log_api_usage_once
        self._api_usage = original
        noted = self._guard(self._note_compiled, always=True)

        def tell(name: str) -> None:
            original(name)
            if name in _COMPILING:
                noted(sys._getframe(1).f_locals.get("model"))
            elif name == _OPTIMIZER:
                frame = sys._getframe(1)
                self._constructed(frame.f_locals.get("self"), frame)

        tell.__name__ = original.__name__
        tell.__module__ = original.__module__
        set_api_usage(tell)

    def _note_compiled(self, compiled: Any) -> None:
        """Note that the script compiles a module, a function, or a method of a module."""
        if not self._seen.compiles:
            self._compiling()
        self._seen.compiles = True
        if not self._sees_through:
            self.unhook()
        for known in self._seen.roots.values():
            known.has_hidden_calls = True
        module = getattr(compiled, "__self__", compiled)
        if isinstance(module, nn.Module) and next(module.parameters(), None) is not None:
            root, _ = unwrap(module)
            watch = self._seen.roots.get(id(root)) or self.add_root(root)
            watch.compiled = (type(root).__name__,)
            if not self._sees_through:
                watch.hide_calls()
            if module is compiled and not watch.wrappers:
                watch.wrappers = ("OptimizedModule",)
            watch.watch_parameters()
        self._compiled(compiled)

    def hook(self, *, through_compiled: bool = False) -> None:
        """Attach the hooks on all modules, unless the script compiles.

        They see through compiled code where that runs as written.
        """
        if self._seen.compiles and not (through_compiled or self._sees_through):
            return
        if self._hooks is None:
            self._hooks = SwitchedHooks(
                (
                    register_module_forward_pre_hook(self._guarded_begin),
                    register_module_forward_hook(self._guarded_end, always_call=True),
                )
            )
        elif not self._hooks.is_on:
            self._hooks.on()

    def unhook(self) -> None:
        """Remove the hooks on all modules."""
        if self._hooks is not None:
            self._hooks.off()

    def _hook_only_end(self, root: RootWatch) -> None:
        """Remove the hooks on all modules during a call of the only root, which is not sampled.

        With hooks on all modules, PyTorch takes longer for each call inside of the root.
        """
        on_all = self._hooks
        if (
            on_all is not None
            and on_all.is_on
            and self._inside is None
            and all(other is root or other.is_part for other in self._seen.roots.values())
            and root.is_plain
        ):
            self._inside = root
            hook = self._end_hook
            if hook is not None and hook.are_in(root.root._forward_hooks):
                hook.on()
            else:
                register: Any = nn.Module.register_forward_hook
                handle = register(root.root, self._root_ends, always_call=True)
                self._end_hook = SwitchedHooks((handle,))
            on_all.off()

    def root_ended(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        """Attach the hooks on all modules again, when the call of the only root ends."""
        if self._inside is None or module is not self._inside.root:
            return
        self.hook()
        if sys.exc_info()[1] is None:  # else PyTorch may iterate over the hooks of the root
            self.forget_end()
        self._call_ends(module, args, output)

    def forget_end(self) -> None:
        """Remove the hook at the end of the running call of the only root."""
        if self._inside is not None and self._end_hook is not None:
            self._end_hook.off()
            self._inside = None

    def forget_compiling(self) -> None:
        """Notice calls of torch.compile no more."""
        if self._api_usage is not None:
            set_api_usage(self._api_usage)
            self._api_usage = None

    def _call_begins(self, module: nn.Module, args: tuple[Any, ...]) -> Any:
        """Note a call; PyTorch calls this for each module, so that it must cost nearly nothing."""
        depth = self._depth
        depth.calls += 1
        root = self._seen.roots.get(id(module))
        if root is None:
            if depth.calls > 1 or self._is_skipped(module):
                return None
            root = self._find(module)
        if root is None or root.root is not module or root.running:
            return None
        wholes = root.wholes if root.is_part else []
        if any(whole.running for whole in wholes):
            return None
        if self._inside is not None:
            self.forget_end()  # of a call that raised
        nested = self._is_nested(root)
        for one in (root, *wholes):
            one.running = depth.calls
        if _is_hidden():
            for one in wholes or [root]:
                one.has_hidden_calls |= current_graph_task_id() == -1
            return None
        kwargs = sys._getframe(2).f_locals.get("kwargs")  # of torch's function
        kwargs = kwargs if isinstance(kwargs, dict) else {}
        if wholes:
            return _enter_parts(root, args, kwargs)
        replaced = root.enter(args, kwargs, nested=nested)
        self._hook_only_end(root)
        return replaced

    def _is_skipped(self, module: nn.Module) -> bool:
        known = self._skipped.get(id(module))
        return known is not None and known() is module

    def _is_nested(self, root: RootWatch) -> bool:
        """Return whether a root is called inside a call of another one."""
        roots = self._seen.roots
        return len(roots) > 1 and any(o.running for o in roots.values() if o is not root)

    def _call_ends(self, module: nn.Module, _args: tuple[Any, ...], output: Any) -> None:
        depth = self._depth
        root = self._seen.roots.get(id(module))
        if root is not None and root.root is module and root.running == depth.calls:
            root.running = 0
            if root.is_part:
                for whole in root.wholes:
                    whole.part_ended()
            if not _is_hidden():
                if len(self._seen.roots) > 1 or root.calls == 1:  # others may be called later
                    root.note_output(output)
                if torch.is_grad_enabled():
                    root.watch_backward(output)
        if depth.calls > 0:
            depth.calls -= 1

    def _find(self, module: nn.Module) -> RootWatch | None:
        """Return the root that a module, called outermost for the first time, is or wraps."""
        if hasattr(module, "_is_replica") or current_graph_task_id() != -1:
            return None  # a checkpoint calls modules again, in backward
        root, wrappers = unwrap(module)
        known = self._seen.roots.get(id(root))
        if known is not None:
            known.wrappers = known.wrappers or wrappers
            return known
        if next(root.parameters(), None) is None:
            self._skipped[id(root)] = weakref.ref(root)
            return None
        found = self.add_root(module)
        for whole in list(self._seen.roots.values()):
            if whole.is_bound and found.is_inside(whole):
                found.join(whole)
        return found

    def add_root(self, called: nn.Module) -> RootWatch:
        """Return the watch of a module that becomes a root."""
        self.before_root()
        watch = RootWatch(
            called,
            self._seen.job.spec,
            forward_begins=self._forward_begins,
            backward_begins=self._backward_begins,
            guard=self._guard,
            unmatched=self._seen.unmatched,
            failed=self._guard.note,
            sink=self._sink,
            limited=is_limited(self._seen.job.training),
            most_kept=_MOST_FOR_SAMPLES if _names_samples(self._seen.job) else None,
        )
        watch.has_hidden_calls = self._seen.compiles
        self._seen.roots[id(watch.root)] = watch
        return watch

    def is_inside_call(self) -> bool:
        """Return whether a call of a module runs on this thread, as the stack tells."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_name == "_call_impl":  # of nn.Module
                return True
            frame = frame.f_back
        return False

    def end_interrupted(self) -> None:
        """End the calls that the script interrupted: PyTorch calls no hook if they end by Ctrl-C.

        Nothing changes for a step inside of a running call, as of a model that adapts itself.
        """
        if self.is_inside_call():
            return
        self.forget_end()
        self.hook()
        self._depth.calls = 0
        for root in self._seen.roots.values():
            root.running = 0


def _names_samples(job: RunJob) -> bool:
    """Return whether the user asks for the samples of a spike."""
    return job.training.stop_on == "spike" or (job.training.stop_on is None and bool(job.batch))


def _enter_parts(
    part: RootWatch, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...] | None:
    """Note a call of a part in the roots that it is a part of; return its new arguments."""
    replaced: tuple[Any, ...] | None = None
    for whole in part.wholes:
        now = whole.enter_part(part.root, args if replaced is None else replaced, kwargs)
        replaced = replaced if now is None else now
    return replaced


def _is_hidden() -> bool:
    """Return whether a call recomputes a checkpoint, or runs inside a transform of torch.func."""
    return current_graph_task_id() != -1 or peek_interpreter_stack() is not None
