"""`--kinds`: observers of the named kinds, in place of a preset."""

from __future__ import annotations

from hookcli.catalogue.kind import Kind
from hookcli.catalogue.kinds import CATALOGUE
from hookcli.config.sections.default_actions import with_defaults
from hookcli.errors import RequestError
from hookcli.spec.hooks import ActionSpec, HookSpec
from hookcli.spec.selectors import selector_of
from hookcli.text import nearest, try_instead


def all_kinds() -> tuple[str, ...]:
    """The kinds that `all` names: those whose rows have a place among them."""
    placed = ((kind.in_all, kind.name) for kind in CATALOGUE.values() if kind.in_all is not None)
    return tuple(name for _, name in sorted(placed))


def observers(text: str) -> tuple[HookSpec, ...]:
    """A hook that records for each kind in `text`, "forward,tensor" or "all", everywhere.

    Raises
    ------
    RequestError : a kind is unknown, or none is named.

    """
    place = f"--kinds {text}"
    listed = tuple(name.strip() for name in text.split(",") if name.strip())
    names = all_kinds() if text.strip() == "all" else listed
    if not names:
        raise RequestError("no kind is named", place=place, hint="hookcli list hooks shows them")
    for name in names:
        if name not in CATALOGUE:
            near = nearest(name, [*CATALOGUE, "all"])
            raise RequestError(
                f"there is no kind of hook '{name}'",
                place=place,
                hint=try_instead(near, "hookcli list hooks shows them"),
            )
    return tuple(
        _observer(CATALOGUE[name], index, place) for index, name in enumerate(dict.fromkeys(names))
    )


def _observer(kind: Kind, index: int, place: str) -> HookSpec:
    return HookSpec(
        index=index,
        kind=kind.name,
        at=selector_of(kind.at.everywhere) if kind.at.required else None,
        actions=with_defaults(kind, (ActionSpec("record", None, place),), place),
        place=place,
    )
