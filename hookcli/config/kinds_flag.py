"""`--kinds`: observers of the named kinds, in place of a preset."""

from __future__ import annotations

from hookcli.catalogue.kind import Kind
from hookcli.catalogue.kinds import CATALOGUE
from hookcli.config.sections.at_rules import at_rule
from hookcli.errors import RequestError
from hookcli.spec.hooks import ActionSpec, HookSpec
from hookcli.spec.selectors import selector_of
from hookcli.text import nearest

# What `all` means. Left out are those that change what they look at, or the run:
# - full_backward_pre, full_backward and backward put functions of their own into the graph, refuse
#   in-place operations, and two of them cannot stand together; so do their global forms
# - saved_tensors replaces what operators save, and is one pair only
# - optimizer, state, registration and packaging kinds fire in phases of their own, which the run
#   would have to add
# - ddp_comm wants the model wrapped and a process group
ALL = (
    "global_forward_pre", "global_forward", "forward_pre", "forward", "tensor", "multi_grad",
    "post_accumulate_grad", "node_pre", "node", "accumulate_grad", "engine_callback", "op",
)  # fmt: skip


def observers(text: str) -> tuple[HookSpec, ...]:
    """A hook that records for each kind in `text`, "forward,tensor" or "all", everywhere.

    Raises
    ------
    RequestError : a kind is unknown, or none is named.

    """
    place = f"--kinds {text}"
    names = ALL if text.strip() == "all" else tuple(n.strip() for n in text.split(",") if n.strip())
    if not names:
        raise RequestError("no kind is named", place=place, hint="hookcli list hooks shows them")
    for name in names:
        if name not in CATALOGUE:
            near = nearest(name, [*CATALOGUE, "all"])
            raise RequestError(
                f"there is no kind of hook '{name}'",
                place=place,
                hint=f"did you mean {near}?" if near else "hookcli list hooks shows them",
            )
    return tuple(
        _observer(CATALOGUE[name], index, place) for index, name in enumerate(dict.fromkeys(names))
    )


def _observer(kind: Kind, index: int, place: str) -> HookSpec:
    record = ActionSpec("record", None, place)
    acting = (ActionSpec("comm", {"name": "allreduce"}, place),) if kind.name == "ddp_comm" else ()
    at = _everywhere(kind)
    return HookSpec(
        index=index,
        kind=kind.name,
        at=None if at is None else selector_of(at),
        actions=(*acting, record),
        place=place,
    )


def _everywhere(kind: Kind) -> str | None:
    """Modules and parameters "*", values "*:output", and no `at` where it may be left out."""
    rules = at_rule(kind)
    if not rules.required:
        return None
    return "*:output" if kind.name == "tensor" else "*"
