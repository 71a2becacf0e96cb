"""One case: files, a command line, and what the command may write."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Case:
    """A command in a folder of its own.

    Attributes
    ----------
    arguments : the command line after `hookcli`.
    files : the content of each file by its path in the folder. The command must not change them.
    damaged : the file that was mutated, which can be made smaller; "" if it is the command line.
    writes : whether the command line or the configuration asks for new files in the folder.
    outputs : the format of each file that the command may write or replace, by its path in the
        folder. What it writes must be whole; a command that is refused writes nothing.
    entries : what else is in the folder: ("folder", path, ""), ("link", path, target) or
        ("pipe", path, "").
    script : the arguments of `python` that run the same script, if the command runs one: its
        status and what it prints are its own.
    is_same : whether the flags leave the script's status and stdout as they are.
    then : commands that read what the command wrote, and must not refuse it.
    piped : what stdin contains.
    ahead : whether the worker starts before the command line is read, as it does for users.
    check : runs in place of the command, and raises AssertionError; for checks of the Python API.

    """

    arguments: tuple[str, ...] = ()
    files: dict[str, bytes] = field(default_factory=dict)
    damaged: str = ""
    writes: bool = False
    outputs: dict[str, str] = field(default_factory=dict)
    entries: tuple[tuple[str, str, str], ...] = ()
    script: tuple[str, ...] = ()
    is_same: bool = True
    then: tuple[tuple[str, ...], ...] = ()
    piped: bytes = b""
    ahead: bool = False
    check: Callable[[], None] | None = None


def generator(seed: int, number: int) -> random.Random:
    """The random numbers of a case, which depend on nothing else."""
    return random.Random(f"{seed}/{number}")
