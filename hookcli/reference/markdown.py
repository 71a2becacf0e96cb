"""The reference of hooks and actions in Markdown. docs/hooks/reference.md is what it prints.

python -c "from hookcli.reference.markdown import hooks_reference; print(hooks_reference(), end='')"
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hookcli.catalogue.actions import CATALOGUE as ACTIONS, Action
from hookcli.catalogue.kind import Kind
from hookcli.catalogue.kinds import CATALOGUE as HOOKS
from hookcli.catalogue.options import OPTIONS
from hookcli.formats.markdown import quote
from hookcli.formats.parts.text import sentence
from hookcli.reference.hooks import REAL_ONLY, argument, tensors

_INTRO = """\
# Hooks and actions

<!-- Generated from the catalogues by hookcli.reference.markdown. A test compares the two. -->

A hook in a configuration defines *when* (its `kind`), *where* (`at`) and *what* (`do`). The names
of the kinds are those of PyTorch's functions without `register_` and `_hook`. `hookcli list hooks`
lists all kinds. `hookcli explain hook:forward` prints one of the sections below.
"""

# Observed with torch 2.13. "(documented)" marks the order that PyTorch's documentation guarantees.
_ORDER = """\
## The order in one training step

hookcli numbers the events of all kinds with one counter, in the order in which they happen. In a
training step through two layers, the order is:

1. `forward_pre`: global hooks, then the module's own. Parents fire before their children.
   (documented)
2. While an operator runs, `saved_tensors` packs and `op` fires.
3. `forward`: global hooks, then the module's own. Children fire before their parents. (documented)
4. `tensor` hooks on the root's output, because its node is the outermost one.
5. `full_backward_pre`: global hooks, then the module's own. Parents fire before their children.
6. At each autograd node: `tensor` hooks, `node_pre`, unpacking of saved tensors, the node itself,
   `node`.
7. At each parameter: `tensor` hooks, `multi_grad`, the write to `.grad`, `post_accumulate_grad`,
   `accumulate_grad`. All of these run before the module's `full_backward`.
8. `full_backward`: global hooks, then the module's own. Children fire before their parents.
9. `engine_callback`, after the whole graph has run.
10. `optimizer_step_pre`: global hooks, then the optimizer's own. Then the step itself. Then
    `optimizer_step_post`: the optimizer's own hooks, then global ones.

If two branches join, backward runs the branch whose node was created later first. The order of the
operands does not matter.

**State dicts.** Saving: `state_dict_pre` of the parent, then of the child; `state_dict_post` of the
child, then of the parent. Loading: `load_state_dict_pre` of the parent, then of the child;
`load_state_dict_post` of the child, then of the parent.
"""

_LEGEND = """\
The table of each kind has these rows:

- **signature**: the signature of a Python function for the action `call`.
- **value**: what actions read and change.
- **returns**: what happens with a value that the function returns.
- **attaches to**: the type of the target.
- **phases**: the phases of a run in which the hook can fire.
- **models**: the model formats that support the kind.
- **attached by**: the PyTorch function that attaches the hook.
"""


def _code(text: str) -> str:
    return f"`{text}`"


def _row(cells: Iterable[str]) -> str:
    """Return a table row. Pipes are escaped, because a pipe inside code would end the cell."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _table(titles: tuple[str, ...], rows: Iterable[Iterable[str]]) -> str:
    rule = "|" + "---|" * len(titles)
    return "\n".join([_row(titles), rule, *map(_row, rows)])


def _anchor(name: str) -> str:
    return f"[{quote(name)}](#{name})"


def _kinds() -> str:
    families = dict.fromkeys(kind.family for kind in HOOKS.values())
    rows = [
        (family, ", ".join(_anchor(k.name) for k in HOOKS.values() if k.family == family))
        for family in families
    ]
    return _table(("family", "kinds"), rows)


def _section(kind: Kind) -> Iterator[str]:
    yield f"### {quote(kind.name)}"
    yield quote(sentence(f"fires {kind.fires}"))
    yield f"```yaml\nhooks:\n  - {kind.example}\n```"
    facts = [
        ("signature", _signature(kind)),
        ("value", quote(kind.value)),
        ("returns", quote(kind.returns)),
        ("attaches to", kind.target),
        ("phases", ", ".join(map(_code, kind.phases))),
        ("models", ", ".join(kind.backends)),
        ("tensors", REAL_ONLY if kind.needs_values else ""),
        ("torch", f"{kind.since} or later"),
        ("attached by", _code(kind.registers)),
        *((f"option `{name}`", quote(OPTIONS[name].does)) for name in kind.options),
    ]
    yield _table(("", ""), [fact for fact in facts if fact[1]])
    if kind.caveats:
        yield "\n".join(f"- {quote(sentence(caveat))}" for caveat in kind.caveats)


def _signature(kind: Kind) -> str:
    """Return each form of the signature as code, after the option that selects it."""
    parts = [part.rpartition(": hook") for part in kind.signature.split("; ")]
    return "; ".join(
        f"{when}: {_code(f'hook{rest}')}" if sep else _code(rest) for when, sep, rest in parts
    )


def _action(action: Action) -> tuple[str, ...]:
    return (
        _code(action.name),
        quote(action.does),
        quote(argument(action)),
        "yes" if action.changes else "no",
        tensors(action),
        _code(action.example),
    )


def hooks_reference() -> str:
    """Return the whole page."""
    titles = ("action", "what it does", "argument", "changes", "tensors", "example")
    parts = [
        _INTRO,
        _kinds(),
        _ORDER,
        "## Kinds",
        _LEGEND,
        *(part for kind in HOOKS.values() for part in _section(kind)),
        "## Actions",
        "Actions that change a value work only with kinds whose hooks may return one. They keep "
        "the value's structure, dtype and device. If an action needs real tensors, the run uses "
        "real tensors.",
        _table(titles, map(_action, ACTIONS.values())),
    ]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"
