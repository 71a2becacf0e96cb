"""The reference of hooks and actions in Markdown: docs/hooks/reference.md is its output.

python -c "from hookcli.reference.markdown import hooks_reference; print(hooks_reference(), end='')"
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hookcli.catalogue.actions import ARGUMENTS, CATALOGUE as ACTIONS, Action
from hookcli.catalogue.kind import Kind
from hookcli.catalogue.kinds import CATALOGUE as HOOKS
from hookcli.catalogue.options import OPTIONS
from hookcli.formats.markdown import quote
from hookcli.formats.parts.text import sentence

_INTRO = """\
# Hooks and actions

<!-- Generated from the catalogues by hookcli.reference.markdown. A test holds it to them. -->

A hook in a configuration is *when* (its kind), *where* (`at`) and *what* (`do`). The kinds carry
PyTorch's own names, less `register_` and `_hook`. `hookcli explain hook:forward` prints one of
these sections, `hookcli list hooks` the table.
"""

# Observed on torch 2.13; what PyTorch's documentation promises is marked.
_ORDER = """\
## The order in one training step

hookcli numbers the events of all kinds with one counter, and reports what happened. For a step
through two layers that is:

1. Global `forward_pre` hooks, then the module's own; the parent's before the child's. (promised)
2. `saved_tensors` packs while an operator runs; `op` sees each operator.
3. Global `forward` hooks, then the module's own; the child's before the parent's. (promised)
4. Tensor hooks on the root's output: they stand on the outermost node.
5. `full_backward_pre`, global before own; the parent's before the child's.
6. At each autograd node: tensor hooks, then `node_pre`, then unpacking, the node, and `node`.
7. At each parameter: tensor hooks, `multi_grad`, then the gradient is written to `.grad`, then
   `post_accumulate_grad`, then `accumulate_grad`. All of it before the module's `full_backward`.
8. `full_backward`, global before own; the child's before the parent's.
9. `engine_callback`, once the whole graph has run.
10. Global `optimizer_step_pre`, own `optimizer_step_pre`, the step, own `optimizer_step_post`,
    global `optimizer_step_post`.

Of two branches the one whose node was made later goes first in backward, whatever the order of the
operands.

**State dicts.** Saving: `state_dict_pre` of the parent, then of the child; `state_dict_post` of the
child, then of the parent. Loading: `load_state_dict_pre` of the parent, then of the child;
`load_state_dict_post` of the child, then of the parent.
"""


def _code(text: str) -> str:
    return f"`{text}`"


def _row(cells: Iterable[str]) -> str:
    """Of a table: a pipe inside code would end the cell."""
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
        ("stands on", kind.target),
        ("phases", ", ".join(map(_code, kind.phases))),
        ("models", ", ".join(kind.backends)),
        ("tensors", "real ones only" if kind.needs_values else ""),
        ("torch", f"{kind.since} or later"),
        ("attached by", _code(kind.registers)),
        *((f"option `{name}`", quote(OPTIONS[name].does)) for name in kind.options),
    ]
    yield _table(("", ""), [fact for fact in facts if fact[1]])
    if kind.caveats:
        yield "\n".join(f"- {quote(sentence(caveat))}" for caveat in kind.caveats)


def _signature(kind: Kind) -> str:
    """Each form as code, after what asks for it."""
    parts = [part.rpartition(": hook") for part in kind.signature.split("; ")]
    return "; ".join(
        f"{when}: {_code(f'hook{rest}')}" if sep else _code(rest) for when, sep, rest in parts
    )


def _action(action: Action) -> tuple[str, ...]:
    takes = ARGUMENTS[action.argument] + (", or nothing" if action.optional else "")
    return (
        _code(action.name),
        quote(action.does),
        quote(takes),
        "yes" if action.changes else "no",
        "real" if action.needs_values else "real or fake",
        _code(action.example),
    )


def hooks_reference() -> str:
    """The page, whole."""
    titles = ("action", "what it does", "takes", "changes", "tensors", "example")
    parts = [
        _INTRO,
        _kinds(),
        _ORDER,
        "## Kinds",
        *(part for kind in HOOKS.values() for part in _section(kind)),
        "## Actions",
        "Those that change a value stand on kinds whose hooks may return one; they keep its "
        "structure, dtype and device. Those that "
        "need real tensors make the run a real one.",
        _table(titles, map(_action, ACTIONS.values())),
    ]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"
