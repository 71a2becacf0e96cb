"""Load a .pt2 file: the modules of its program, with the file's own batch."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout

import torch
from torch import fx

from hookcli.errors import HookcliError, ModelError
from hookcli.models import module_tree, places
from hookcli.models.exported.archive import Opened, check_torch_exports, open_program
from hookcli.models.exported.model import ExportedModel
from hookcli.models.exported.names import name_buffers, name_inputs
from hookcli.models.exported.origins import call_places, mode_of, modes, overall
from hookcli.models.exported.regions import inline_regions
from hookcli.models.exported.screening.trust import safe_to_open
from hookcli.models.exported.signature import Signature
from hookcli.models.exported.tree import Tree
from hookcli.models.failures import message_of
from hookcli.models.loaded import Loaded
from hookcli.models.sources.parse import Archive
from hookcli.spec.request import ModelSpec
from hookcli.text import first_line, join_names
from hookcli.torch_private import HigherOrderOperator

_SHOWN = 5  # names of modules in a note


def load_exported(archive: Archive, spec: ModelSpec, phase: Callable[[str], None]) -> Loaded:
    """Load the program in a .pt2 file, as the modules that it was exported from.

    Raises
    ------
    RequestError : it contains no program, or several, or opening it can run code, or this torch is
        too old.
    ModelError : it is damaged, or needs what this torch lacks.
    """
    check_torch_exports(spec.source)
    phase("import")
    path = places.START / archive.path
    with safe_to_open(path, trusted=spec.trust, source=spec.source) as file:
        opened = open_program(file, spec.source)
    phase("build")
    try:
        return _loaded(opened)
    except HookcliError:
        raise
    except Exception as error:  # noqa: BLE001  # torch trusts the file, and fails in many ways
        raise ModelError(
            f"cannot rebuild the layers of the program: {type(error).__name__}: "
            f"{first_line(message_of(error))[:300]}",
            place=spec.source,
            hint="pass the Python source that it was exported from",
            details=message_of(error),
        ) from None


def _loaded(opened: Opened) -> Loaded:
    """Build the modules of a program."""
    program = opened.program
    inline_regions(program)
    name_buffers(program)
    name_inputs(program)
    signature = Signature(program)
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")  # torch warns about its own code, and prints
        tree = Tree(torch.export.unflatten(program), signature)
    training = modes(program.graph)
    if training:
        for module, names in module_tree.modules(tree.root):
            module.training = mode_of(names[0], training)
    return Loaded(
        tree.root,
        None,
        notes=(_note(opened, signature, overall(training), tree.silent, program.graph),),
        batch=signature.example(program),
        model=ExportedModel(tree.root, call_places(program.graph, tree.canonical)),
        format="exported",
        mode=overall(training),
    )


def _note(
    opened: Opened,
    signature: Signature,
    mode: str | None,
    silent: tuple[str, ...],
    graph: fx.Graph,
) -> str:
    """Return a note about what the file fixes."""
    by = f" by torch {opened.made_by}" if opened.made_by else ""
    sentences = [f"exported{by}" + (f" in {mode} mode, and run in it" if mode else "")]
    if opened.program.dialect != "TRAINING":
        sentences.append(
            "decomposed: operators that ran without gradients lost their layers and now have "
            "gradients"
        )
    dynamic = signature.checker.dynamic()
    sentences.append(f"dynamic sizes: {dynamic}" if dynamic else "all input sizes are fixed")
    if silent:
        sentences.append(
            f"modules without an operator have no row: {join_names(silent, _SHOWN)} "
            "(never called, or without effect like nn.Identity)"
        )
    opaque = {str(n.target) for n in graph.nodes if isinstance(n.target, HigherOrderOperator)}
    if opaque:
        sentences.append(f"modules called inside {', '.join(sorted(opaque))} have no rows")
    return "; ".join(sentences)
