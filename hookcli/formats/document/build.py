"""Which function makes the document of each kind of report. Importing this loads none of them.

>>> build(report, View()).blocks  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from hookcli.formats.names import TRAINING
from hookcli.formats.results import Kind, Result, kind_of
from hookcli.formats.view import View, check_view

if TYPE_CHECKING:
    from hookcli.formats.document.document import Document


class Builders(NamedTuple):
    """The functions of one kind of report, each "module:function" below hookcli.formats.

    Each is a function of the report or diff and of a view that returns a document: `tables` in
    tables, and `tree` as a tree; None: the tree is shown as tables. `kind` is that of the result.
    """

    tables: str
    tree: str | None = None
    kind: Kind = "report"


BUILDERS: dict[str, Builders] = {
    "inspect": Builders("inspect.document:build", "inspect.tree:build"),
    "grads": Builders("grads.document:build", "grads.tree:build"),
    "trace": Builders("trace.document:build", "trace.tree:build"),
    "check": Builders("check.document:build"),
    "run": Builders("training.document:build", "training.tree:build", kind="run"),
    "diff": Builders("diff.document:build", kind="diff"),
    "rundiff": Builders("training_diff.document:build", kind="rundiff"),
    "weights": Builders("weights.document:build", "weights.document:build_tree", kind="weights"),
    "weights_diff": Builders(
        "weights.difference:build", "weights.difference:build_tree", kind="weights_diff"
    ),
}


def build(result: Result, view: View, *, as_tree: bool = False) -> Document:
    """Return the document of a report or a diff.

    Raises
    ------
    RequestError : the view has a column or sort key that the report does not support.
    """
    check_view(result, view)
    document: Document = load(_name(result), as_tree=as_tree)(result, view)
    return document


def load(name: str, *, as_tree: bool = False) -> Callable[[Any, View], Any]:
    """Return the builder of a kind of report, or of a command. Importing it takes time."""
    builders = BUILDERS[name]
    module, _, function = ((as_tree and builders.tree) or builders.tables).partition(":")
    builder: Callable[[Any, View], Any] = getattr(
        import_module(f"hookcli.formats.{module}"), function
    )
    return builder


def _name(result: Any) -> str:
    """Return the kind of a result; of the report of a run its command, else inspect.

    A saved report may have any string as its command.
    """
    kind = kind_of(result)
    if kind != "report":
        return kind
    name: str = "check" if result.command == TRAINING else result.command  # of a training
    return name if name in BUILDERS and BUILDERS[name].kind == kind else "inspect"
