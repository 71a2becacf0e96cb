"""Runs sampled steps without the compiler for `--compiled eager-samples`."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from hookcli.training.compiled.compiled_code import CompiledCode
from hookcli.training.root_calls import RootCalls


class EagerSamples(CompiledCode):
    """Switches compiled code off before a sampled step begins, and on again after it.

    While it is off, compiled functions run as they are written, and the hooks on all modules see
    the calls. While it is on, there are no hooks that the compiler could trace.
    """

    def __init__(self, calls: RootCalls) -> None:
        self._calls = calls
        self._stance: Any = None
        self._is_compiling = False

    def compiling(self, compiled: Any, *, sampled: bool) -> None:
        """Begin at the first call of torch.compile."""
        if not self._is_compiling:
            self._is_compiling = True
            # OptimizedModule warns about the hooks on all modules, which see through it.
            warnings.filterwarnings("ignore", "Using `torch.compile.*global hooks", UserWarning)
        self.after_steps(sampled=sampled)

    def after_steps(self, *, sampled: bool) -> None:
        """Prepare for a step that is sampled or not."""
        if not self._is_compiling:
            return
        if sampled and self._stance is None:
            self._stance = torch.compiler.set_stance("force_eager")
            self._calls.hook(through_compiled=True)
        elif not sampled:
            self.stop()

    def stop(self) -> None:
        """Let compiled code run again."""
        if self._stance is not None:
            stance, self._stance = self._stance, None
            stance.__exit__(None, None, None)
        if self._is_compiling:
            self._calls.unhook()
