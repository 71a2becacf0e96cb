"""A run of a model that is compiled, beside the same model run eagerly. Torch-free."""

from __future__ import annotations

from dataclasses import dataclass, field

from hookcli.errors import RequestError
from hookcli.text import nearest, try_instead

COMPARED = "compiled"  # the measurement of the process that compiles and compares
COMPILE_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
WITH_MODE = "inductor"  # the only backend that has modes
_YES_OR_NO = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class CompileSettings:
    """The arguments of torch.compile. `backend` is a name, or a function as `file.py:function`."""

    backend: str
    mode: str | None = None
    dynamic: bool | None = None
    fullgraph: bool = False
    place: str = field(default="", compare=False)  # for errors

    def text(self) -> str:
        """Return the settings as they are typed: "inductor, dynamic=true"."""
        parts = [self.backend]
        if self.mode is not None:
            parts.append(f"mode={self.mode}")
        if self.dynamic is not None:
            parts.append(f"dynamic={str(self.dynamic).lower()}")
        if self.fullgraph:
            parts.append("fullgraph=true")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class CompiledRun:
    """The process that compiles a model and compares it with the eager one.

    It gets the batch and the weights of the reference through files in `folder`.
    """

    settings: CompileSettings
    folder: str
    tolerances: tuple[tuple[str, float], ...] = ()  # the user's limits by globs on names


def compile_settings(
    backend: str, mode: str | None, dynamic: str | None, fullgraph: str | None, place: str
) -> CompileSettings:
    """Return the settings of texts as typed.

    Raises
    ------
    RequestError : a text is not a value of its setting, or the backend has no modes.
    """
    if mode is not None and mode not in COMPILE_MODES:
        guess = nearest(mode, COMPILE_MODES)
        raise RequestError(
            f"unknown mode of torch.compile '{mode}'",
            place=place,
            hint=try_instead(guess, f"choose from {', '.join(COMPILE_MODES)}"),
        )
    if mode not in {None, "default"} and backend != WITH_MODE:
        raise RequestError(
            f"backend '{backend}' has no mode '{mode}'",
            place=place,
            hint="remove the mode, or use `compile=inductor`",
        )
    return CompileSettings(
        backend,
        None if mode == "default" else mode,
        _flag("dynamic", dynamic, place),
        bool(_flag("fullgraph", fullgraph, place)),
        place,
    )


def _flag(name: str, text: str | None, place: str) -> bool | None:
    if text is None:
        return None
    if text not in _YES_OR_NO:
        raise RequestError(
            f"{name} must be true or false, got '{text}'",
            place=place,
            hint=f"write `{name}=true` or remove it",
        )
    return _YES_OR_NO[text]
