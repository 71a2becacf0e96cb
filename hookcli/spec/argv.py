"""The arguments of a script that is imported as a model: `sys.argv` without its first entry."""

from __future__ import annotations

import shlex

from hookcli.errors import RequestError
from hookcli.spec.request import ModelSpec


def parse_argv(text: str, place: str) -> tuple[str, ...]:
    """Split arguments as a POSIX shell does: `--lr 0.1 --name 'a b'`.

    Raises
    ------
    RequestError : a quotation is not closed, or the text ends in a backslash.
    """
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise RequestError(
            f"cannot split the arguments of the script: {str(error).lower()}",
            place=place,
            hint="close each quotation, as in `--argv \"--name 'a b'\"`",
        ) from None


def script_argv(model: ModelSpec) -> list[str]:
    """Return `sys.argv` as `python FILE ARGS` has it: the file without `:Net`, the arguments."""
    source = model.source
    file, colon, _ = source.rpartition(":")
    return [file if colon and file.endswith(".py") else source, *model.argv]
