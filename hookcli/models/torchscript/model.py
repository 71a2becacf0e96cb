"""The backend of models with TorchScript in them: at the root, or in children of Python modules.

It numbers the calls inside the scripted modules and reports them as `Model.observe` does.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from hookcli.models.call_hooks import CallHooks
from hookcli.models.eager import EagerModel
from hookcli.models.model import Call, CallStack, Enter, Exit
from hookcli.models.scripted import (
    forwards,
    is_scripted,
    lost,
    original_of,
    qualified_type,
    tapped_in,
    type_of,
)
from hookcli.models.torchscript.graphs import nodes_of, place_of
from hookcli.models.torchscript.operators import NO_CALL, forget_replaced
from hookcli.models.torchscript.tapped import Function, Tapped


class ScriptedModel(EagerModel):
    """A live module whose scripted parts report their calls by operators in their graphs."""

    state_in_python = False

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run one forward; an error inside a scripted module is raised as the original error."""
        with lost.kept():
            try:
                return super().call(args, kwargs)
            except Exception as error:
                for tapped in tapped_in(self.root):
                    original = original_of(error, tapped.error)
                    if original is not error:
                        raise original from None  # TorchScript replaces every error by its own
                raise

    def _type_of(self, module: nn.Module) -> str:
        return type_of(module)

    def _original_name(self, module: nn.Module) -> str | None:
        return qualified_type(module)

    def _can_be_called(self, module: nn.Module) -> bool:
        return bool(forwards(module)) if is_scripted(module) else super()._can_be_called(module)

    def _call_hooks(self, enter: Enter, leave: Exit, calls: CallStack) -> CallHooks:
        return _ScriptedCallHooks(self, enter, leave, calls)


class _ScriptedCallHooks(CallHooks):
    """Hooks on Python modules, and a listener for each scripted module."""

    def __init__(self, model: ScriptedModel, enter: Enter, leave: Exit, calls: CallStack) -> None:
        super().__init__(model, enter, leave, calls)
        self._scripts = [
            _ScriptCalls(tapped, self._names, calls, enter, leave)
            for tapped in tapped_in(model.root)
        ]
        self._reporters = {id(script.root): script.raised for script in self._scripts}

    def _accepts_hooks(self, module: nn.Module) -> bool:
        return not is_scripted(module)

    def open(self, stack: ExitStack) -> None:
        """Start the listeners, and attach the hook that must come before all others."""
        for script in self._scripts:
            script.open(stack)
        super().open(stack)


@dataclass(slots=True)
class _Frame:
    """A running call. `in_hooks` is True if the file's own hooks run around its forward."""

    call: Call
    outer: _Frame | None
    base: tuple[Call, ...]  # the calls of Python modules around the scripted root
    in_hooks: bool
    inside: bool = False  # the forward runs
    args: tuple[Any, ...] = ()
    early_ran: bool = False  # the hooks that run before the file's own, before the forward
    early_ended: bool = False  # those after it

    def chain(self) -> list[Call]:
        """Return the calls that run, the innermost last."""
        calls: list[Call] = []
        frame: _Frame | None = self
        while frame is not None:
            calls.append(frame.call)
            frame = frame.outer
        return [*self.base, *reversed(calls)]


class _ScriptCalls:
    """Number the calls, let hooks see and change their values, and report the result.

    A call is known by its number, which the operators in the graphs pass on, and not by its thread:
    a method may go on on another thread.
    """

    def __init__(
        self, tapped: Tapped, names: dict[int, str], calls: CallStack, enter: Enter, leave: Exit
    ) -> None:
        self.root = tapped.root
        self._tapped = tapped
        self._names = names
        self._calls = calls
        self._enter, self._leave = enter, leave
        self._lines = _Lines(tapped.root)
        self._weights = {id(p) for p in tapped.root.parameters()}
        self._frames: dict[int, _Frame] = {}  # by the order of the call
        self._begun: list[int] = []  # calls of the root, which Python calls with the file's hooks

    def open(self, stack: ExitStack) -> None:
        """Start to listen, until the stack is closed."""
        self._tapped.instrument()
        self._tapped.error = None
        self._tapped.listener = self
        stack.callback(self._close)
        root: nn.Module = self.root
        if root._forward_hooks or root._forward_pre_hooks:  # Python runs those of the root
            add_pre, add = nn.Module.register_forward_pre_hook, nn.Module.register_forward_hook
            stack.enter_context(add_pre(root, self._root_begins, prepend=True))
            stack.enter_context(add_pre(root, self._root_enters))
            stack.enter_context(add(root, self._root_ends))

    def _close(self) -> None:
        self._tapped.listener = None
        self._frames.clear()
        self._calls.leave_threads()
        forget_replaced()

    def _root_begins(self, module: nn.Module, args: tuple[Any, ...]) -> Any | None:
        number, new = self.begun(module, args if args and module._forward_pre_hooks else None)
        self._begun.append(number)
        return new

    def _root_enters(self, module: nn.Module, args: tuple[Any, ...]) -> Any | None:
        return self.entered_call(module, args)[1] if args else None

    def _root_ends(self, module: nn.Module, _args: Any, output: Any) -> Any | None:
        return self.ended(module, output, self._begun.pop())

    def begun(
        self, module: nn.Module, args: tuple[Any, ...] | None
    ) -> tuple[int, tuple[Any, ...] | None]:
        """A call begins, before the file's own hooks: run the hooks that are before them.

        Returns its number, and replaced arguments or None. Without arguments, `entered_call` runs
        the hooks.
        """
        number = self._begin(module, in_hooks=True)
        if args is None:
            return number, None
        self._frames[number].early_ran = True
        new = _changed_args(self._tapped.pre.early(module), module, args)
        return number, None if new is args else new

    def _begin(self, module: nn.Module, *, in_hooks: bool) -> int:
        parent = self._calls.running()
        call = self._calls.enter(module, self._names.get(id(module)))
        call.type = type_of(module)
        call.place = vars(module).get("place") or self._lines.place(parent, module)
        outer = None if parent is None else self._frames.get(parent.order)
        base = tuple(self._calls.here()[:-1]) if outer is None else outer.base
        self._frames[call.order] = _Frame(call, outer, base, in_hooks)
        return call.order

    def entered(self, module: nn.Module, args: tuple[Any, ...]) -> tuple[int, Any | None]:
        """A forward begins: run its pre-hooks, then `enter`, unless `entered_call` has done that.

        Returns the number of the call, and replaced arguments or None.
        """
        running = self._calls.running()
        frame = None if running is None else self._frames.get(running.order)
        if running is None or frame is None or running.key != id(module) or frame.inside:
            number = self._begin(module, in_hooks=False)
            self._frames[number].inside = True
            return self.entered_call(module, args)
        frame.inside = True
        return (running.order, None) if running.entered else self.entered_call(module, args)

    def entered_call(self, module: nn.Module, args: tuple[Any, ...]) -> tuple[int, Any | None]:
        """Run the pre-hooks of the innermost call, then `enter`. Return as `entered`."""
        frame = self._frames[self.running()]
        call = frame.call
        call.entered = True
        shown = self._without_weights(module, args)
        hooks = self._tapped.pre
        early = () if frame.early_ran else hooks.early(module)
        new = _changed_args((*early, *hooks.late(module)), module, shown)
        if self._tapped.post.any(module):
            frame.args = new
        self._enter(call, (new, {}))
        if new is shown:
            return call.order, None
        return call.order, new if shown is args else _with_weights(args, shown, new)

    def _without_weights(self, module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments without weights: a trace passes on those that modules share."""
        if not any(id(argument) in self._weights for argument in args):
            return args
        own = {id(p) for p in module.parameters()}
        return tuple(argument for argument in args if id(argument) not in own)

    def left(self, module: nn.Module, output: Any, number: int) -> Any | None:
        """A forward ends: run its hooks, then `leave`. Return a replaced output, or None.

        If the file's own hooks follow, only the hooks before them run, and `ended` does the rest.
        """
        frame = self._frames.get(number)
        if frame is None or not frame.in_hooks:
            return self.ended(module, output, number)
        frame.early_ended = True
        new = _changed(self._tapped.post.early(module), module, frame.args, output)
        return None if new is output else new

    def ended(self, module: nn.Module, output: Any, number: int) -> Any | None:
        """A call ends: run its hooks, then `leave`. Return a replaced output, or None."""
        frame = self._frames.get(number)
        if frame is None:
            return None
        call = frame.call
        self._go_on(frame)
        hooks = self._tapped.post
        early = () if frame.early_ended else hooks.early(module)
        new = _changed((*early, *hooks.late(module)), module, frame.args, output)
        self._calls.leave(call.key)
        frame.args = ()
        if module is self.root:
            self._frames.clear()
            self._calls.leave_threads()
            self._calls.drop(call)
        else:
            del self._frames[number]
        self._leave(call, new, None)
        return None if new is output else new

    def running(self) -> int:
        """Return the number of the innermost call on this thread."""
        call = self._calls.running()
        return NO_CALL if call is None or call.order not in self._frames else call.order

    def resumed(self, number: int) -> None:
        """What follows on this thread belongs to this call, which may be over if it forked."""
        frame = self._frames.get(number)
        if frame is not None:
            self._go_on(frame)

    def _go_on(self, frame: _Frame) -> None:
        """Make a call the innermost one of this thread."""
        here = self._calls.here()
        if not here or here[-1] is not frame.call:
            self._calls.adopt(frame.chain())

    def raised(self, error: BaseException) -> None:
        """The scripted module raised: end its running calls, the innermost first."""
        original = original_of(error, self._tapped.error)
        frames, self._frames = [*self._frames.values()], {}
        self._begun.clear()
        self._calls.leave_threads()
        for frame in reversed(frames):
            self._calls.leave(frame.call.key)
            self._leave(frame.call, None, original)


def _changed_args(
    hooks: tuple[Function, ...], module: nn.Module, args: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Return the arguments that these hooks make of others, as Python does."""
    for function in hooks:
        result = function(module, args)
        if result is not None:
            args = result if isinstance(result, tuple) else (result,)
    return args


def _changed(
    hooks: tuple[Function, ...], module: nn.Module, args: tuple[Any, ...], output: Any
) -> Any:
    """Return the output that these hooks make of another one, as Python does."""
    for function in hooks:
        result = function(module, args, output)
        if result is not None:
            output = result
    return output


def _with_weights(
    args: tuple[Any, ...], shown: tuple[Any, ...], new: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Return new arguments with the weights that hooks did not see, in their places."""
    if len(new) != len(shown):
        return new
    values = iter(new)
    seen = {id(value) for value in shown}
    return tuple(next(values) if id(value) in seen else value for value in args)


class _Lines:
    """The lines at which each module calls its children."""

    def __init__(self, root: nn.Module) -> None:
        self._lines: dict[tuple[int, int], list[str | None]] = {}
        self._seen: dict[int, dict[int, int]] = {}  # by the caller's order: calls of each child
        known: dict[str, list[tuple[tuple[str, ...], str | None]]] = {}
        for module in root.modules():
            if not isinstance(module, torch.jit.ScriptModule):
                continue
            kind = str(module._c._type())
            if kind not in known:
                known[kind] = list(_calls_in(module))
            for path, place in known[kind]:
                child = _at(module, path)
                if child is not None:
                    self._lines.setdefault((id(module), id(child)), []).append(place)

    def place(self, caller: Call | None, module: nn.Module) -> str | None:
        """Return the line at which `caller` calls this module; the caller's own in torch's code."""
        if caller is None:
            return None
        lines = self._lines.get((caller.key, id(module)))
        if not lines:
            return caller.place
        counts = self._seen.setdefault(caller.order, {})
        count = counts.get(id(module), 0)
        counts[id(module)] = count + 1
        return lines[min(count, len(lines) - 1)] or caller.place


def _calls_in(module: Any) -> list[tuple[tuple[str, ...], str | None]]:
    """Return the calls of children in a module's methods: the path to the child, and the line."""
    calls = []
    for method in module._c._method_names():
        for node in nodes_of(module._c._get_method(method).graph):
            if node.kind() == "prim::CallMethod":
                path = _path(node.inputsAt(0).node())
                if path:
                    calls.append((path, place_of(node)))
    return calls


def _path(node: Any) -> tuple[str, ...]:
    """Return the attributes from `self` to a value: (layers, 0) for self.layers.0."""
    names: list[str] = []
    while node.kind() == "prim::GetAttr":
        names.insert(0, node.s("name"))
        node = node.inputsAt(0).node()
    return tuple(names)


def _at(module: Any, path: tuple[str, ...]) -> nn.Module | None:
    for name in path:
        children: Any = module._modules  # of torch: it has no `get`
        child = children[name] if name in children else None  # noqa: SIM401
        if child is None:
            return None
        module = child
    return module  # type: ignore[no-any-return]
