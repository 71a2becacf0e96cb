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
    from hookcli.spec.losses import NAMES, OWN_LOSSES

    return [*OWN_LOSSES, *NAMES, "output:"]


def what_ifs(incomplete: str) -> list[str]:
    """Return what is typed, with each key that can follow, or each value of the last key."""
    from hookcli.spec.what_if import KEYS, VALUES

    typed, comma, last = incomplete.rpartition(",")
    key, equals, _ = last.partition("=")
    words = [f"{key}={v}" for v in VALUES.get(key, ())] if equals else [f"{k}=" for k in KEYS]
    return [f"{typed}{comma}{word}" for word in words]


def rules(incomplete: str) -> list[str]:
    """Return the names of rules."""
    from hookcli.rules.catalogue import CATALOGUE

    return list(CATALOGUE)


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


def sorts(command: str | None) -> Callable[[str], list[str]]:
    """Return the completion of --sort of a command; None stands for all commands."""

    def complete(incomplete: str) -> list[str]:
        from hookcli.formats.names import SORTS, sorts_of

        minus = "-" if incomplete.startswith("-") else ""
        return [f"{minus}{name}" for name in (SORTS if command is None else sorts_of(command))]

    return complete


def formats(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return the completion of --format of a command that has these formats."""

    def complete(incomplete: str) -> list[str]:
        return list(names)

    return complete


def models(incomplete: str) -> list[str]:
    """Return `FILE:Class` for a Python file, and `hf:FOLDER` for folders with a config.json.

    Before the colon the shell completes file names.
    """
    from hookcli.models.sources.model_files import model_classes

    path, colon, name = incomplete.partition(":")
    if colon and path == "hf":
        return [f"hf:{folder}" for folder in _configured(name)]
    if not colon or not path.endswith(".py"):
        return []
    return [f"{path}:{name}" for name in model_classes(Path(path))]


def _configured(name: str) -> list[str]:
    """Return the folders below which a config.json is, or folders on the way to one."""
    above = name.rpartition("/")[0]
    try:
        folders = [entry for entry in Path(above or ".").iterdir() if entry.is_dir()]
    except OSError:
        return []
    front = f"{above}/" if above or name.startswith("/") else ""
    return sorted(
        f"{front}{entry.name}" + ("" if (entry / "config.json").is_file() else "/")
        for entry in folders
        if not entry.name.startswith(".")
    )


def topics(incomplete: str) -> list[tuple[str, str]]:
    """Return what `explain` explains, each with its family; `rule:NAME` after a colon."""
    from collections import Counter

    from hookcli.reference.families import FAMILIES
    from hookcli.reference.schemas import SCHEMAS

    families = [load() for load in FAMILIES.values()]
    count = Counter(name for family in families for name in family.members)
    return [
        ("columns", "columns of tables"),
        *((name, "all names") for name in FAMILIES),
        *((f"schema:{name}", "schema") for name in SCHEMAS),
        *(
            (name if bare else f"{family.singular}:{name}", family.singular)
            for family in families
            for name in family.members
            for bare in (":" not in incomplete and count[name] == 1,)
        ),
    ]


def _listed(incomplete: str, names: Iterable[str]) -> list[str]:
    front, comma, _ = incomplete.rpartition(",")
    typed = {name.strip() for name in front.split(",")}
    return [f"{front}{comma}{name}" for name in names if name not in typed]
