"""The arguments A and B of diff, parsed into what to run on each side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from hookcli.cli.flags.options import OutputFlags, RequestFlags, ViewFlags
from hookcli.console import Console
from hookcli.errors import HookcliError, ProblemsError, RequestError
from hookcli.sentences import names_no_function, unknown
from hookcli.spec.compared.compiled import COMPILE_MODES, CompileSettings, compile_settings
from hookcli.spec.compared.parallel import ParallelPlan, parse_mesh
from hookcli.spec.request import Command, Mode
from hookcli.text import nearest, try_instead

if TYPE_CHECKING:
    from hookcli.cli.requests import Request

_KEYS = (
    "dtype", "device", "mode", "weights", "arg", "argv", "python", "parallel", "mesh", "compile",
    "dynamic", "fullgraph",
)  # fmt: skip
OF_COMPILE = ("compile", "dynamic", "fullgraph")


@dataclass(frozen=True, slots=True)
class SideText:
    """The parts of `SOURCE?dtype=bfloat16&device=cpu`. `settings` are (key, value) as typed."""

    text: str
    source: str
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def typed(self) -> tuple[str, ...]:
        """The settings as they were typed."""
        return tuple(f"{key}={value}" for key, value in self.settings)

    @property
    def is_plan(self) -> bool:
        """Whether the side is a parallel plan of a model."""
        return any(key in {"parallel", "mesh"} for key, _ in self.settings)

    @property
    def is_compiled(self) -> bool:
        """Whether the side is a compiled model."""
        return any(key == "compile" for key, _ in self.settings)

    @property
    def is_report(self) -> bool:
        """Whether the side is a saved report."""
        return self.source.endswith(".json")

    @property
    def is_config(self) -> bool:
        """Whether the side is a configuration."""
        return self.source.endswith((".yaml", ".yml"))


@dataclass(frozen=True, slots=True)
class SideRequest:
    """The request of one side, and the files that it reads."""

    request: Request
    read: tuple[str, ...]
    own_weights: bool


def parse_side(text: str) -> SideText:
    """Parse a side. If a file of exactly this name exists, it is the source.

    Raises
    ------
    RequestError : a setting is unknown or has no value.
    """
    source, mark, query = text.rpartition("?")
    if not mark or Path(text).exists():
        return SideText(text, text)
    settings = []
    for part in query.split("&"):
        key, _, value = part.partition("=")
        if key not in _KEYS or not value:
            raise _setting_error(key, text)
        settings.append((key, value))
    side = SideText(text, source, tuple(settings))
    _check_modes(side)
    return side


def _check_modes(side: SideText) -> None:
    modes = (*get_args(Mode), *(COMPILE_MODES if side.is_compiled else ()))
    for key, value in side.settings:
        if key == "mode" and value not in modes:
            raise RequestError(
                unknown("mode", value), place=side.text, hint=f"choose from {', '.join(modes)}"
            )
        if key in OF_COMPILE and not side.is_compiled:
            raise RequestError(
                f"setting '{key}' requires setting 'compile'",
                place=side.text,
                hint="add it, as in `&compile=inductor`",
            )
    if side.is_plan and side.is_compiled:
        raise RequestError(
            "a parallel plan cannot be combined with setting 'compile'",
            place=side.text,
            hint="remove `compile`, or compare the compiled model in another diff",
        )


def _setting_error(key: str, text: str) -> RequestError:
    if key in _KEYS:
        hint = f"add a value, as in `?{key}=VALUE`"
        return RequestError(f"setting '{key}' requires a value", place=text, hint=hint)
    guess = nearest(key, _KEYS)
    return RequestError(
        unknown("setting", key),
        place=text,
        hint=try_instead(guess, f"choose from {', '.join(_KEYS)}"),
    )


def side_request(
    side: SideText, command: Command, flags: RequestFlags, view: ViewFlags, console: Console
) -> SideRequest:
    """Return the request of one side.

    The side's settings override the command's flags, and these override the side's configuration.

    Raises
    ------
    RequestError : the request is wrong.
    """
    from hookcli.cli.input_files import files_read
    from hookcli.cli.requests import request_of

    own = _side_flags(side, flags)
    request = request_of(command, own, view=view, output=OutputFlags(), console=console)
    weights = request.spec.model.weights is not None
    return SideRequest(request, tuple(files_read(request.spec, own.model.config)), weights)


def _side_flags(side: SideText, flags: RequestFlags) -> RequestFlags:
    """Return the command's flags with the side's settings; the last of equal settings counts."""
    given = dict(side.settings)
    model = replace(
        flags.model,
        config=side.source if side.is_config else None,
        model=None if side.is_config else side.source,
        arg=(*flags.model.arg, *(value for key, value in side.settings if key == "arg")),
        argv=given.get("argv", flags.model.argv),
        weights=given.get("weights"),
        device=given.get("device", flags.model.device),
        dtype=given.get("dtype", flags.model.dtype),
        python=given.get("python", flags.model.python),
    )
    modes = [value for key, value in side.settings if key == "mode" and value in get_args(Mode)]
    if not modes:
        return replace(flags, model=model)
    mode = cast("Mode", modes[-1])
    return replace(flags, model=model, run=replace(flags.run, mode=mode))


def prefix_side(error: HookcliError, name: str) -> HookcliError:
    """Return the error with the side, A or B, before its message."""
    if isinstance(error, ProblemsError):
        for problem in error.problems:
            problem.message = f"{name}: {problem.message}"
    error.message = f"{name}: {error.message}"
    return error


def plan_of(side: SideText) -> ParallelPlan:
    """Return the parallel plan of a side.

    Raises
    ------
    RequestError : the function or the mesh is missing, or the mesh has another form.
    """
    given = dict(side.settings)
    for key, example in (("parallel", "plan.py:apply"), ("mesh", "tp:2")):
        if key not in given:
            raise RequestError(
                f"a parallel plan requires setting '{key}'",
                place=side.text,
                hint=f"add it, as in `&{key}={example}`",
            )
    if ":" not in given["parallel"]:
        raise RequestError(
            names_no_function(given["parallel"]),
            place=side.text,
            hint="write `parallel=plan.py:apply`",
        )
    return ParallelPlan(given["parallel"], parse_mesh(given["mesh"], side.text), side.text)


def compile_settings_of(side: SideText) -> CompileSettings:
    """Return how a side is compiled.

    Raises
    ------
    RequestError : a setting has another form, or the backend has no modes.
    """
    given = dict(side.settings)
    modes = [v for key, v in side.settings if key == "mode" and v in COMPILE_MODES]
    return compile_settings(
        given["compile"],
        modes[-1] if modes else None,
        given.get("dynamic"),
        given.get("fullgraph"),
        side.text,
    )
