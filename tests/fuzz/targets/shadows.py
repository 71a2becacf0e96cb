"""Files beside a model that are named like modules of Python and of packages: none may run."""

from __future__ import annotations

import importlib.util
from functools import cache
from random import Random

from tests.fuzz import corpus
from tests.fuzz.case import Case
from tests.shadowing import names

CANARY = b"open('CANARY', 'w').close()\n"
COMMANDS = (
    ("inspect", "-f", "table"), ("inspect", "-f", "html"), ("grads", "-f", "json"),
    ("trace", "-f", "perfetto"), ("check", "-f", "sarif"), ("check", "-f", "junit"),
    ("grads", "-f", "svg"), ("inspect", "--tensors", "real", "-f", "json"),
)  # fmt: skip


@cache
def installed() -> tuple[str, ...]:
    """The names that something else answers: a package that is missing may be the model's own."""
    return tuple(name for name in names() if _is_found(name) and name not in {"torch", "m"})


def _is_found(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ValueError:  # a module without a spec
        return False


def shadows(rng: Random) -> Case:
    """A healthy model, and files with some of the names, or with all of them."""
    some = installed()
    if rng.random() < 0.5:
        some = tuple(rng.sample(some, rng.randint(1, 20)))
    files = {"m.py": corpus.MODEL, **{f"{name}.py": CANARY for name in some}}
    command, *flags = rng.choice(COMMANDS)
    return Case((command, "m.py", "-i", "2x4", *flags), files)
