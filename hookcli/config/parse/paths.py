"""Paths and references to code: relative to the file that names them, absolute when read."""

from __future__ import annotations

import os
import re
from pathlib import Path

from hookcli.config.parse.code_refs import Code, Written
from hookcli.config.parse.nodes import Node, NodeError
from hookcli.spec.hooks import FunctionRef
from hookcli.text import nearest, try_instead

_MODEL_FILE = re.compile(r"(.+?\.(?:py|pt|pth|ts|pt2))(?::(.+))?", re.DOTALL)
_MODULE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_SOURCE = re.compile(r"(.+\.py):([^\W\d]\w*(?:\.[^\W\d]\w*)*)", re.DOTALL)
_OPERATOR = re.compile(r"torch\.ops(?:\.[^\W\d]\w*){2,3}")
_KERNEL = ("/proc/", "/sys/")
_FUNCTION_HINT = 'write "my_hooks.py:halve", "package.module:attr" or "torch.ops.namespace.name"'


def absolute(item: Node, text: str) -> str:
    """A path as an absolute one; raises FaultError where no file can have that name."""
    if "\0" in text:
        raise NodeError(item, f"'{text}' is no file's name: it holds a NUL", "name a file")
    return os.path.normpath(item.mark.folder / text)


def written(item: Node, text: str) -> Written:
    """A folder that files are written to, as an absolute path."""
    return Written(absolute(item, text), item)


def existing(item: Node, text: str) -> str:
    """The absolute path of a file that is there; raises FaultError where none is."""
    path = Path(absolute(item, text))
    try:
        if path.is_file():
            _refuse_kernel_file(item, path, text)
            return str(path)
        here = path.is_dir()
    except OSError as error:  # a name that is too long
        raise NodeError(
            item, f"'{text}' is no file's name: {error}", "name a file that is there"
        ) from None
    if here:
        raise NodeError(item, f"{text} is a directory", "name a file in it")
    raise NodeError(item, f"there is no file {text}", _near(path, text), listed=path.parent)


def _refuse_kernel_file(item: Node, path: Path, text: str) -> None:
    """Refuse what reads like a file and is none: some block for ever, others have no end."""
    if os.path.realpath(path).startswith(_KERNEL):
        raise NodeError(item, f"{text} is not a file on a disk", "name a file outside /proc")


def _near(path: Path, text: str) -> str:
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"there is no folder {path.parent}; paths are relative to the configuration"
    same_stem = sorted(name for name in names if Path(name).stem == path.stem)
    near = nearest(path.name, names, cutoff=0.6) or next(iter(same_stem), None)
    if near:
        return try_instead((Path(text).parent / near).as_posix())
    return "paths are relative to the configuration that names them"


def model_source(item: Node, text: str) -> Code:
    """What `model` names, with its path absolute: as MODEL on the command line."""
    return Code(_model_source(item, text), item, "a model")


def _model_source(item: Node, text: str) -> str:
    try:
        if Path(absolute(item, text)).is_file():
            return absolute(item, text)
    except OSError:
        pass  # said below
    match = _MODEL_FILE.fullmatch(text)
    if match:
        path = existing(item, match[1])
        return path if match[2] is None else f"{path}:{match[2]}"
    if _MODULE.fullmatch(text):
        return text
    return existing(item, text)


def code(item: Node, text: str) -> Code:
    """A reference to code with its path absolute: `f.py:name`, `package.module:name`."""
    match = _SOURCE.fullmatch(text)
    if match:
        return Code(f"{existing(item, match[1])}:{match[2]}", item, "a function")
    if _MODULE.fullmatch(text):
        return Code(text, item, "a function")
    raise NodeError(item, f"'{text}' names no function", _FUNCTION_HINT)


def function(item: Node, text: str) -> FunctionRef:
    """A function of the user's, of a package or of a library, with PyTorch's own signature."""
    if _OPERATOR.fullmatch(text):
        return FunctionRef(Code(text, item, "a function"))
    return FunctionRef(code(item, text))
