"""Places in the user's source: "file.py:12", for calls, constructors and errors.

User code is all code outside torch, hookcli and the standard library. Paths below the working
directory are shown relative to it.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import re
import sys
import sysconfig
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)

from hookcli.errors import trace_of
from hookcli.system.frame_variables import variables_of

_TORCH = str(Path(torch.__file__).parent) + os.sep
_OURS = str(Path(__file__).parent.parent) + os.sep
_STDLIB = sysconfig.get_paths()["stdlib"] + os.sep
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")

_USER, _NOT_USER, _HOOKCLI = 1, 0, -1
_kinds: dict[str, int] = {}
_shown: dict[str, str] = {}
_archives: dict[str, str] = {}  # what torch.package puts before names → the archive's file
_MANGLED = re.compile(r"(<torch_package_\d+>)\.?")
SYNTAX = (SyntaxError, IndentationError, TabError)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def is_installed(filename: str) -> bool:
    """Whether a file belongs to an installed package."""
    return any(part in filename for part in _PACKAGES)


def _kind(filename: str) -> int:
    kind = _kinds.get(filename)
    if kind is None:
        if filename.startswith(_OURS):
            kind = _HOOKCLI
        elif packed := _MANGLED.match(filename):  # torch's own placeholder for a mocked module
            kind = _NOT_USER if filename[packed.end() :] == "_mock.py" else _USER
        elif filename.startswith(("<", _TORCH)):
            kind = _NOT_USER
        else:
            standard = filename.startswith(_STDLIB) and not is_installed(filename)
            kind = _NOT_USER if standard else _USER
        _kinds[filename] = kind
    return kind


def is_user(filename: str) -> bool:
    """Whether a file belongs neither to torch, nor to hookcli, nor to the standard library."""
    return _kind(filename) == _USER


def show(filename: str) -> str:
    """Return the path as reports show it: relative if it is below the working directory."""
    shown = _shown.get(filename)
    if shown is None:
        packed = _MANGLED.match(filename)
        inside = f"{_archives.get(packed[1], '')}/{filename[packed.end() :]}" if packed else None
        path = Path(inside or filename)
        try:
            shown = path.resolve().relative_to(START).as_posix()
        except (ValueError, OSError):
            shown = str(path)
        _shown[filename] = shown
    return shown


def name_archive(prefix: str, path: Path) -> None:
    """Register the archive of the code whose names torch.package begins with `prefix`.

    Places in that code are then "model.pt/net.py:12".
    """
    _archives[prefix] = str(path)


def without_mangling(text: str) -> str:
    """Remove the prefixes that torch.package puts before names, and addresses of objects."""
    return _ADDRESS.sub("", _MANGLED.sub("", text))


def _cwd() -> Path:
    try:
        return Path.cwd().resolve()
    except OSError:  # the folder is gone
        return Path(os.sep)


START = _cwd()  # the working directory before the model's code ran: a model may change it


def user_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame of user code from `frame` outwards, up to hookcli's own runner."""
    while frame is not None:
        filename = frame.f_code.co_filename
        kind = _kinds.get(filename)
        if kind is None:
            kind = _kind(filename)
        if kind == _USER:
            return frame
        if kind == _HOOKCLI:
            return None
        frame = frame.f_back
    return None


def of_frame(frame: FrameType | None) -> str | None:
    """Return the innermost line of user code from `frame` outwards, up to hookcli's own runner."""
    found = user_frame(frame)
    return None if found is None else f"{show(found.f_code.co_filename)}:{found.f_lineno}"


def caller() -> FrameType | None:
    """Return the innermost frame of user code that led to hookcli's code that calls this."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _kind(frame.f_code.co_filename) == _HOOKCLI:
        frame = frame.f_back
    return user_frame(frame)


def of_caller() -> str | None:
    """Return the innermost line of user code that led to hookcli's code that calls this."""
    return of_frame(caller())


def of_error(error: BaseException) -> str | None:
    """Return the innermost line of the user's own code; else of an installed package.

    A syntax error has its own line.
    """
    if type(error) in SYNTAX:  # subclasses of the user may contain anything
        syntax: Any = error
        if type(syntax.filename) is str and type(syntax.lineno) is int and syntax.filename:
            return f"{show(syntax.filename)}:{syntax.lineno}"
    own, installed, step = None, None, trace_of(error)
    while step is not None:
        filename = step.tb_frame.f_code.co_filename
        if _kind(filename) == _USER:
            place = f"{show(filename)}:{step.tb_lineno}"
            if is_installed(filename):
                installed = place
            else:
                own = place
        step = step.tb_next
    return own or installed


def of_class(kind: type) -> str | None:
    """Return the line of a user's class, or None for a class of torch or without a file."""
    try:
        filename = inspect.getsourcefile(kind)
        if filename is None or _kind(filename) != _USER:
            return None
        return f"{show(filename)}:{_line_of_class(kind)}"
    except (OSError, TypeError, IndexError, SyntaxError):
        forward = getattr(kind, "forward", None)
        code = getattr(forward, "__code__", None)
        if code is None or _kind(code.co_filename) != _USER:
            return None
        return f"{show(code.co_filename)}:{code.co_firstlineno}"


def _line_of_class(kind: type) -> int:
    """Return what inspect does, which parses the whole file for each class before Python 3.13."""
    defined: object = inspect.unwrap(kind)
    if isinstance(defined, type) and sys.version_info < (3, 13):
        filename = inspect.getsourcefile(defined)
        if filename is not None:
            linecache.checkcache(filename)
            module = inspect.getmodule(defined, filename)
            lines = linecache.getlines(filename, None if module is None else module.__dict__)
            line = _class_lines("".join(lines)).get(defined.__qualname__)
            if line is not None:
                return line
    return inspect.getsourcelines(kind)[1]


@lru_cache(maxsize=32)
def _class_lines(source: str) -> dict[str, int]:
    """Return the first line of each class by its qualified name, without names defined twice."""
    lines: dict[str, int] = {}
    twice: set[str] = set()
    left: list[tuple[ast.AST, str]] = [(ast.parse(source), "")]
    while left:
        node, prefix = left.pop()
        if isinstance(node, ast.ClassDef):
            name = prefix + node.name
            if name in lines:
                twice.add(name)
            lines[name] = node.decorator_list[0].lineno if node.decorator_list else node.lineno
            prefix = f"{name}."
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            prefix += f"{node.name}.<locals>."
        children = ast.iter_child_nodes(node)
        left.extend((child, prefix) for child in children if not isinstance(child, ast.expr))
    return {name: line for name, line in lines.items() if name not in twice}


def _is_method_of(frame: FrameType, module: torch.nn.Module) -> bool:
    names = frame.f_code.co_varnames
    return bool(names) and variables_of(frame).get(names[0]) is module


class Constructors:
    """Record where each module is constructed, while this context is open.

    A module's first parameter or buffer is registered inside its constructor, which gives the
    line of the constructor call. A module with neither gets the line that adds it to its parent.
    """

    def __init__(self) -> None:
        self._places: dict[int, str] = {}
        self._alive: list[torch.nn.Module] = []  # keeps modules alive, so that no id is reused
        self._stack = ExitStack()

    def __enter__(self) -> Constructors:
        self._stack.enter_context(register_module_parameter_registration_hook(self._own))
        self._stack.enter_context(register_module_buffer_registration_hook(self._own))
        self._stack.enter_context(register_module_module_registration_hook(self._child))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _note(self, module: torch.nn.Module, frame: FrameType | None) -> None:
        if id(module) not in self._places and (place := of_frame(frame)) is not None:
            self._places[id(module)] = place
            self._alive.append(module)

    def _own(self, module: torch.nn.Module, _name: str, _value: Any) -> None:
        if id(module) in self._places:
            return
        frame = inspect.currentframe()
        frame = frame.f_back if frame is not None else None
        # Skip the frames of the module's own constructor: its caller is the place.
        while frame is not None and (
            _kind(frame.f_code.co_filename) == _NOT_USER or _is_method_of(frame, module)
        ):
            frame = frame.f_back
        self._note(module, frame)

    def _child(self, module: torch.nn.Module, _name: str, child: Any) -> None:
        if isinstance(child, torch.nn.Module):
            frame = inspect.currentframe()
            self._note(child, frame.f_back if frame is not None else None)

    def of(self, module: torch.nn.Module) -> str | None:
        """Return the line that constructed `module`, or None if it was not seen."""
        return self._places.get(id(module))
