"""The messages that several places write, each in one function. Nothing of hookcli is imported."""

from __future__ import annotations

CALL_HINT = 'write `{call: "package.module:attr", args: {name: value}}`'
MAIN_GUARD = '`if __name__ == "__main__":`'
QUANTIZED_HINT = "run only forward: `hookcli inspect`, or `--kinds forward_pre,forward` with trace"
BUG_HINT = "report this bug in hookcli with the output of `-v`"


def cannot_read(path: object, reason: object) -> str:
    """Return the message for a file whose reading failed, such as by an `OSError`."""
    return f"cannot read {path}: {reason}"


def cannot_write(path: object, reason: object) -> str:
    """Return the message for a file or a folder that cannot be written."""
    return f"cannot write {path}: {reason}"


def missing_file(path: object) -> str:
    """Return the message for a path at which nothing is."""
    return f"file not found: {path}"


def not_a_file(path: object, kind: str = "a directory") -> str:
    """Return the message for a folder, a pipe or a device where a file is expected."""
    return f"{path} is {kind}"


def no_module(name: str) -> str:
    """Return the message for a Python module that cannot be found."""
    return f"module not found: {name}"


def missing_name(name: str, owner: object) -> str:
    """Return the message for a name that a module, a file or an archive does not contain."""
    return f"'{name}' not found in {owner}"


def cannot_import(module: str, error: str) -> str:
    """Return the message for a module whose code failed; `error` is its type and message."""
    return f"cannot import {module}: {error}"


def cannot_open(path: object, error: str) -> str:
    """Return the message for a pickle whose code failed; `error` is its type and message."""
    return f"cannot open {path}: {error}"


def given_twice(name: str) -> str:
    """Return the message for a name that is given more than once."""
    return f"'{name}' is given twice"


def no_match(what: str, pattern: str) -> str:
    """Return the message for a pattern that selects nothing; `what` is what it should select."""
    return f"no {what} matches '{pattern}'"


def not_a_training(path: object) -> str:
    """Return the message for a report that is not that of a training."""
    return f"{path} is not the report of a training"


def unknown(what: str, name: object) -> str:
    """Return the message for a name that is none of those that exist; `what` is what it names."""
    return f"unknown {what} '{name}'"


def must_be(name: str, expected: str, got: str) -> str:
    """Return the message for a value that is not what was expected; `got` is it, or its type."""
    return f"{name} must be {expected}, got {got}"


def not_floating_point(dtype: str) -> str:
    """Return the message for a dtype that models cannot be cast to."""
    return f"'{dtype}' is not a floating-point dtype"


def missing(what: str) -> str:
    """Return the message for something that must be given."""
    return f"missing {what}"


def invalid_yaml(error: object) -> str:
    """Return the message for a string that is not YAML."""
    return f"invalid YAML: {error}"


def needs_torch(what: str, since: str, version: str) -> str:
    """Return the message for something that torch has since a newer version than this one."""
    return f"{what} needs torch {since} or newer, this is {version}"


def hookcli_failed(error: str) -> str:
    """Return the message for an error of hookcli's own; `error` is its type and message."""
    return f"hookcli failed: {error}"


def quantized_layers(types: str) -> str:
    """Return the message for a model whose output has no gradient, as its layers are quantized."""
    return f"backward cannot start: the model has quantized layers ({types}) without gradients"


def names_no_function(reference: str) -> str:
    """Return the message for a reference such as "file.py" that lacks the name of a function."""
    return f"'{reference}' does not name a function"
