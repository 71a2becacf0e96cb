"""The backend of models with TorchScript in them: at the root, or in children of Python modules."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from torch import nn

from hookcli.models.call_hooks import CallHooks
from hookcli.models.eager import EagerModel
from hookcli.models.model import CallStack, Enter, Exit
from hookcli.models.scripted import (
    forwards,
    is_scripted,
    lost,
    original_of,
    qualified_type,
    tapped_in,
    type_of,
)
from hookcli.models.torchscript.calls import ScriptCalls


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
                    original = original_of(error, tapped)
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
            ScriptCalls(tapped, self._names, calls, enter, leave)
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
