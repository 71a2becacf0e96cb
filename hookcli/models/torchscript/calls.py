"""Report the calls inside a scripted module, as `Model.observe` does."""

from __future__ import annotations

from typing import Any

from torch import nn

from hookcli.models.model import Call, CallStack, Enter, Exit
from hookcli.models.scripted import original_of, type_of
from hookcli.models.torchscript.sources import Lines
from hookcli.models.torchscript.tapped import Tapped


class ScriptCalls:
    """Number the calls, let hooks see and change their values, and report the result."""

    def __init__(
        self, tapped: Tapped, names: dict[int, str], calls: CallStack, enter: Enter, leave: Exit
    ) -> None:
        self.root = tapped.root
        self._tapped = tapped
        self._names = names
        self._calls = calls
        self._enter, self._leave = enter, leave
        self._lines = Lines(tapped.root)
        self._weights = {id(p) for p in tapped.root.parameters()}
        self._args: dict[int, tuple[Any, ...]] = {}  # by the order of the call, for hooks after it

    def open(self) -> None:
        """Start to listen."""
        self._tapped.instrument()
        self._tapped.error = None
        self._tapped.listener = self

    def close(self) -> None:
        """Stop listening."""
        self._tapped.listener = None
        self._args.clear()

    def entered(self, module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """A forward begins: run its pre-hooks, then `enter`. Return replaced arguments, or None."""
        parent = self._calls.running()
        call = self._calls.enter(module, self._names.get(id(module)))
        call.type = type_of(module)
        call.place = vars(module).get("place") or self._lines.place(parent, module)
        call.entered = True
        new = args
        for function in self._tapped.before(module):
            result = function(module, new)
            if result is not None:
                new = result if isinstance(result, tuple) else (result,)
        if self._tapped.after(module):
            self._args[call.order] = new
        self._enter(call, (self._without_weights(module, new), {}))
        return None if new is args else new

    def _without_weights(self, module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments without weights: a trace passes on those that modules share."""
        if not any(id(argument) in self._weights for argument in args):
            return args
        own = {id(p) for p in module.parameters()}
        return tuple(argument for argument in args if id(argument) not in own)

    def left(self, module: nn.Module, output: Any) -> Any | None:
        """A forward ends: run its hooks, then `leave`. Return a replaced output, or None."""
        new = output
        call = self._calls.running()
        args = () if call is None else self._args.pop(call.order, ())
        for function in self._tapped.after(module):
            result = function(module, args, new)
            if result is not None:
                new = result
        call = self._calls.leave(id(module))
        if call is not None:
            self._leave(call, new, None)
        return None if new is output else new

    def raised(self, error: BaseException) -> None:
        """The scripted module raised: end its running calls, the innermost first."""
        while (call := self._calls.running()) is not None and self._has(call):
            self._calls.leave(call.key)
            self._leave(call, None, original_of(error, self._tapped))

    def _has(self, call: Call) -> bool:
        return self._tapped.has(call.module)
