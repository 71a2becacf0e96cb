"""The base of modes that see every operator of a run."""

from __future__ import annotations

from hookcli.torch_private import TorchDispatchMode


class UncompiledMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A dispatch mode for code that is not compiled.

    Torch otherwise checks at every operator whether it is, which imports its compiler.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False
