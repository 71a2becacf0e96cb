"""Paths and references to code: relative to the file that names them, absolute when read."""

from __future__ import annotations

import os
import re
from pathlib import Path

from hookcli.config.parse.code_refs import Code, Written
from hookcli.config.parse.nodes import PATH_HINT, Node, NodeError
from hookcli.outputs.special_files import kind_of
from hookcli.plain_files import problem_of
from hookcli.sentences import cannot_read, missing_file, not_a_file
from hookcli.spec.hooks import FunctionRef
from hookcli.text import nearest, try_instead

_MODEL_FILE = re.compile(r"(.+?\.(?:py|pt|pth|ts|pt2))(?::(.+))?", re.DOTALL)
_IN_LIBRARY = re.compile("(?:hf|timm|torchvision):")
_MODULE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_SOURCE = re.compile(r"(.+\.py):([^\W\d]\w*(?:\.[^\W\d]\w*)*)", re.DOTALL)
_OPERATOR = re.compile(r"torch\.ops(?:\.[^\W\d]\w*){2,3}")
_KERNEL = ("/proc/", "/sys/")
_FUNCTION_HINT = "write `my_hooks.py:halve`, `package.module:attr` or `torch.ops.namespace.name`"


def absolute(item: Node, text: str) -> str:
    """Return an absolute path. Raises NodeError if no file can have that name."""
    if "\0" in text:
        raise NodeError(item, f"'{text}' contains a NUL character", "give the name of a file")
    return os.path.normpath(item.mark.folder / text)


def written(item: Node, text: str) -> Written:
    """Return the absolute path of a folder that files are written to."""
    return Written(absolute(item, text), item)


def existing(item: Node, text: str) -> str:
    """Return the absolute path of an existing file. Raises NodeError if it does not exist."""
    path = Path(absolute(item, text))
    try:
        if path.is_file():
            _refuse_kernel_file(item, path, text)
            return str(path)
        here = path.is_dir()
    except OSError as error:  # a name that is too long
        raise NodeError(
            item, cannot_read(text, error), "give the name of an existing file"
        ) from None
    if here:
        raise NodeError(item, not_a_file(text), "choose a file in it")
    if kind := kind_of(path):
        raise NodeError(item, cannot_read(text, f"it is {kind}"), "use a regular file")
    if path.is_symlink():
        raise NodeError(item, problem_of(path, text), "use a regular file")
    raise NodeError(item, missing_file(text), _near(path, text), listed=path.parent)


def weights(item: Node, text: str) -> str:
    """Return the absolute path of a file of weights, or of a folder that contains it."""
    path = absolute(item, text)
    return path if os.path.isdir(path) else existing(item, text)  # noqa: PTH112  # never raises


def _refuse_kernel_file(item: Node, path: Path, text: str) -> None:
    """Refuse files of the kernel: reading some of them blocks forever, others have no end."""
    if os.path.realpath(path).startswith(_KERNEL):
        raise NodeError(
            item, f"{text} is not a file on a disk", "choose a file outside /proc and /sys"
        )


def _near(path: Path, text: str) -> str:
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"{PATH_HINT}, and {path.parent} does not exist"
    same_stem = sorted(name for name in names if Path(name).stem == path.stem)
    guess = nearest(path.name, names, cutoff=0.6) or next(iter(same_stem), None)
    if guess:
        return try_instead((Path(text).parent / guess).as_posix())
    return PATH_HINT


def model_source(item: Node, text: str) -> Code:
    """Return what `model` names, as MODEL on the command line, with an absolute path."""
    return Code(_model_source(item, text), item, "a model")


def _model_source(item: Node, text: str) -> str:
    try:
        if Path(absolute(item, text)).is_file():
            return absolute(item, text)
    except OSError:
        pass  # reported below
    if _IN_LIBRARY.match(text):
        return _in_library(item, text)
    match = _MODEL_FILE.fullmatch(text)
    if match:
        path = existing(item, match[1])
        return path if match[2] is None else f"{path}:{match[2]}"
    if _MODULE.fullmatch(text):
        return text
    return existing(item, text)


def _in_library(item: Node, text: str) -> str:
    """Return `hf:FOLDER` with an absolute path if the folder exists; the rest are names."""
    prefix, _, name = text.partition(":")
    if prefix != "hf" or not name:
        return text
    home = os.path.expanduser(name)  # noqa: PTH111  # Path.expanduser raises for an unknown user
    folder = absolute(item, home)
    return f"hf:{folder}" if os.path.exists(folder) else text  # noqa: PTH110  # never raises


def code(item: Node, text: str) -> Code:
    """Return a reference to code with an absolute path: `f.py:name`, `package.module:name`."""
    match = _SOURCE.fullmatch(text)
    if match:
        return Code(f"{existing(item, match[1])}:{match[2]}", item, "a function")
    if _MODULE.fullmatch(text):
        return Code(text, item, "a function")
    raise NodeError(item, f"'{text}' is not a reference to a function", _FUNCTION_HINT)


def function(item: Node, text: str) -> FunctionRef:
    """Return a function of the user, a package or a library, with PyTorch's own signature."""
    if _OPERATOR.fullmatch(text):
        return FunctionRef(Code(text, item, "a function"))
    return FunctionRef(code(item, text))
