"""The flag `--kinds`: hooks that record the named kinds, instead of a preset."""

from __future__ import annotations

from hookcli.catalogue.kind import Kind
from hookcli.catalogue.kinds import CATALOGUE, LIST_HINT
from hookcli.config.sections.default_actions import with_defaults
from hookcli.errors import RequestError
from hookcli.sentences import unknown
from hookcli.spec.hooks import ActionSpec, HookSpec
from hookcli.spec.selectors import selector_of
from hookcli.text import nearest, try_instead


def all_kinds() -> tuple[str, ...]:
    """Return the kinds that `all` stands for, in the order that their rows define."""
    kinds = ((kind.in_all, kind.name) for kind in CATALOGUE.values() if kind.in_all is not None)
    return tuple(name for _, name in sorted(kinds))


def observers(text: str) -> tuple[HookSpec, ...]:
    """Return a hook that records everywhere, for each kind in `text`: "forward,tensor" or "all".

    Raises
    ------
    RequestError : a kind is unknown, or `text` names no kind.

    """
    place = f"--kinds {text}"
    listed = tuple(name.strip() for name in text.split(",") if name.strip())
    names = all_kinds() if text.strip() == "all" else listed
    if not names:
        raise RequestError("--kinds must not be empty", place=place, hint=LIST_HINT)
    for name in names:
        if name not in CATALOGUE:
            guess = nearest(name, [*CATALOGUE, "all"])
            raise RequestError(
                unknown("kind", name), place=place, hint=try_instead(guess, LIST_HINT)
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
