"""The values that complete an option or argument. Catalogues are imported when one is asked for.

A function gets the incomplete word and returns the values that can stand in its place; typer
keeps those that begin with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path


def devices(incomplete: str) -> list[str]:  # typer passes it
    """Return the names of devices."""
    from hookcli.spec.request import DEVICES

    return list(DEVICES)


def dtypes(incomplete: str) -> list[str]:
    """Return the names of floating dtypes."""
    from hookcli.spec.inputs import FLOATING

    return list(FLOATING)


def losses(incomplete: str) -> list[str]:
    """Return the losses that have a name, and the beginning of the one that names an output."""
    from hookcli.spec.request import LOSSES

    return [*LOSSES, "output:"]


def kinds(incomplete: str) -> list[str]:
    """Return lists of hook kinds: what is typed, with each kind that can follow."""
    from hookcli.catalogue.kinds import CATALOGUE

    return _listed(incomplete, CATALOGUE if "," in incomplete else ("all", *CATALOGUE))


def columns(command: str | None) -> Callable[[str], list[str]]:
    """Return the completion of --columns of a command; None stands for all commands."""

    def complete(incomplete: str) -> list[str]:
        from hookcli.cli.flags.values import known_columns

        return _listed(incomplete, known_columns(command))

    return complete


def formats(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return the completion of --format of a command that has these formats."""

    def complete(incomplete: str) -> list[str]:
        return list(names)

    return complete


def models(incomplete: str) -> list[str]:
    """Return `FILE:Class` for a Python file. Before the colon the shell completes file names."""
    from hookcli.models.sources.model_files import model_classes

    path, colon, _ = incomplete.partition(":")
    if not colon or not path.endswith(".py"):
        return []
    return [f"{path}:{name}" for name in model_classes(Path(path))]


def topics(incomplete: str) -> list[tuple[str, str]]:
    """Return what `explain` explains, each with its family; `rule:NAME` after a colon."""
    from collections import Counter

    from hookcli.reference.families import FAMILIES

    families = [load() for load in FAMILIES.values()]
    count = Counter(name for family in families for name in family.members)
    return [
        (name if bare else f"{family.singular}:{name}", family.singular)
        for family in families
        for name in family.members
        for bare in (":" not in incomplete and count[name] == 1,)
    ]


def _listed(incomplete: str, names: Iterable[str]) -> list[str]:
    front, comma, _ = incomplete.rpartition(",")
    typed = {name.strip() for name in front.split(",")}
    return [f"{front}{comma}{name}" for name in names if name not in typed]
