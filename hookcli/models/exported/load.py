"""Load a .pt2 file: the modules of its program, with the file's own batch.

Operators keep metadata of the original: the lines of calls, and the mode of the export.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import torch
from torch import fx, nn
from torch.export import ExportedProgram

from hookcli.errors import HookcliError, ModelError
from hookcli.models import module_tree, places
from hookcli.models.eager import EagerModel
from hookcli.models.exported.archive import Opened, check_torch_exports, open_program
from hookcli.models.exported.regions import inline_regions
from hookcli.models.exported.screening.trust import safe_to_open
from hookcli.models.exported.signature import Signature
from hookcli.models.exported.tree import Tree
from hookcli.models.failures import message_of
from hookcli.models.loaded import Loaded
from hookcli.models.model import Call, CallInputs, CallStack, Enter, Exit
from hookcli.models.sources.parse import Archive
from hookcli.report.recording import ModuleInfo
from hookcli.spec.request import ModelSpec
from hookcli.text import first_line, join_names
from hookcli.torch_private import HigherOrderOperator, OpOverload

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
    _name_buffers(program)
    _name_inputs(program)
    signature = Signature(program)
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")  # torch warns about its own code, and prints
        tree = Tree(torch.export.unflatten(program), signature)
    training = _modes(program.graph)
    if training:
        for module, names in module_tree.modules(tree.root):
            module.training = _mode_of(names[0], training)
    return Loaded(
        tree.root,
        None,
        notes=(_note(opened, signature, _overall(training), tree.silent, program.graph),),
        batch=signature.example(program),
        model=ExportedModel(tree.root, _call_places(program.graph, tree.canonical)),
        format="exported",
        mode=_overall(training),
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


class ExportedModel(EagerModel):
    """The backend of a program: live modules made from it.

    `places` maps a module's path to the user's line of each call. The lines are those of the
    original source; the running code is torch's.
    """

    def __init__(self, root: nn.Module, places: dict[str, list[str | None]]) -> None:
        super().__init__(root)
        self._places = places

    def modules(self) -> tuple[ModuleInfo, ...]:
        """Registered modules, each with the line of its first call."""
        return tuple(
            replace(info, place=next(iter(self._places.get(info.name, ())), None))
            for info in super().modules()
        )

    @contextmanager
    def observe(
        self,
        enter: Enter,
        leave: Exit,
        *,
        calls: CallStack | None = None,
        between: AbstractContextManager[Any] | None = None,
    ) -> Iterator[None]:
        """Observe as for a live module, and set the place of each call."""

        def entering(call: Call, batch: CallInputs) -> Any:
            if call.name is not None:
                lines = self._places.get(call.name, ())
                call.place = lines[call.index] if call.index < len(lines) else None
            return enter(call, batch)

        with super().observe(entering, leave, calls=calls, between=between):
            yield


# The original, from the metadata of operators: the place of each call, and the mode.

_FRAME = re.compile(r'^[^\S\n]*File "(.+?)", line (\d+), in (.+)$', re.MULTILINE)
_TORCH = re.compile(r"[/\\](?:site|dist)-packages[/\\]torch[/\\]|[/\\]torch[/\\](?:nn|_\w+)[/\\]")
_Mode: TypeAlias = Literal["train", "eval", "mixed"]


def _call_places(graph: fx.Graph, canonical: dict[str, str]) -> dict[str, list[str | None]]:
    """Return, for each path, the line of each call, in the order in which the calls began.

    For each operator the file keeps the frames of forward methods: one for each of the user's
    modules, outermost first.
    """
    lines_by_call: dict[tuple[str, str], str | None] = {}  # by torch's key of the call, and path
    for node in graph.nodes:
        lines = _user_lines(node)
        users = 0  # the user's modules around the call
        for key, (path, kind) in (node.meta.get("nn_module_stack") or {}).items():
            if path and lines_by_call.get((key, path)) is None:
                lines_by_call[key, path] = (
                    lines[min(users, len(lines)) - 1] if lines and users else None
                )
            users += not str(kind).startswith("torch.")
    by_path: dict[str, list[str | None]] = {}
    for (_, path), line in lines_by_call.items():
        by_path.setdefault(canonical.get(path, path), []).append(line)
    return by_path


def _user_lines(node: fx.Node) -> list[str]:
    """Return the lines of forward methods outside torch, with paths of the exporting machine."""
    trace = node.meta.get("stack_trace")
    if not isinstance(trace, str):
        return []
    return [
        f"{places.show(filename)}:{line}"
        for filename, line, function in _FRAME.findall(trace)
        if function == "forward" and not _TORCH.search(filename)
    ]


def _modes(graph: fx.Graph) -> dict[str, bool]:
    """Return, for each path, whether its operators were exported in train mode, if they tell."""
    flags_by_path: dict[str, set[bool]] = {}
    for node in graph.nodes:
        training = _training(node)
        if training is not None:
            stack = node.meta.get("nn_module_stack") or {}
            path = next((p for p, _ in reversed(stack.values())), "")
            flags_by_path.setdefault(path, set()).add(training)
    return {path: True in flags for path, flags in flags_by_path.items()}


def _training(node: fx.Node) -> bool | None:
    """Return the mode that an operator was called with, if it depends on the mode; else None."""
    if not isinstance(node.target, OpOverload):
        return None
    name = node.target.overloadpacket.__name__
    if name.endswith("_no_training"):
        return False
    arguments = dict(_arguments(node))
    if name in {"batch_norm", "native_batch_norm"} and arguments.get("running_mean") is None:
        return None  # without running statistics it uses the batch's in either mode
    value = arguments.get("training", arguments.get("train"))
    return value if isinstance(value, bool) else None


def _arguments(node: fx.Node) -> Iterator[tuple[str, Any]]:
    target: Any = node.target
    for argument, value in zip(target._schema.arguments, node.args, strict=False):
        yield argument.name, value
    yield from node.kwargs.items()


def _overall(training: dict[str, bool]) -> _Mode | None:
    """Return the mode of the whole program; None if no operator depends on the mode."""
    flags = set(training.values())
    if not flags:
        return None
    return "mixed" if len(flags) > 1 else ("train" if flags == {True} else "eval")


def _mode_of(path: str, training: dict[str, bool]) -> bool:
    """Whether a module was in train mode: by its operators, else by those below, above, or most."""
    if path in training:
        return training[path]
    prefix = f"{path}." if path else ""
    below = {flag for name, flag in training.items() if name.startswith(prefix)}
    if len(below) == 1:
        return True in below
    while path:
        path = path.rpartition(".")[0]
        if path in training:
            return training[path]
    return sum(training.values()) * 2 >= len(training)


# A tensor with two names in a graph gets the name that the operators around it read. If an operator
# returns its input tensor, a trace continues with the newer name. After unflattening, a module
# would then return a tensor that only passed through it.

_NOTHING = {"to", "contiguous", "type_as"}  # they return their input if nothing has to change


def _name_buffers(program: ExportedProgram) -> None:
    """Replace the result of an in-place change of a buffer by the buffer itself, for its readers.

    Both are one tensor. Otherwise the result would become an output of the module that changed it.
    """
    signature = program.graph_signature
    state = {*signature.inputs_to_buffers, *signature.inputs_to_parameters}
    for node in program.graph.nodes:
        first = _first(node)
        buffer = first is not None and first.op == "placeholder" and first.name in state
        if first is not None and buffer and _gives_first(node.target):
            node.replace_all_uses_with(first)


def _name_inputs(program: ExportedProgram) -> None:
    """Replace the result of an operator that did nothing by its input, for readers outside.

    `x.to(x.dtype)` is x: in the original, the module around it did not return it.
    """
    for node in program.graph.nodes:
        first = _first(node)
        if first is not None and _did_nothing(node, first):
            node.replace_all_uses_with(first, delete_user_cb=_outside(node))


def _first(node: fx.Node) -> fx.Node | None:
    """Return the first argument of an operator if it is a node, else None."""
    if not isinstance(node.target, OpOverload) or not node.args:
        return None
    return node.args[0] if isinstance(node.args[0], fx.Node) else None


def _did_nothing(node: fx.Node, first: fx.Node) -> bool:
    target: Any = node.target
    if target.overloadpacket.__name__ not in _NOTHING or node.kwargs.get("copy"):
        return False
    names = [argument.name for argument in target._schema.arguments]
    if "copy" in names[: len(node.args)] and node.args[names.index("copy")]:
        return False
    before, after = first.meta.get("val"), node.meta.get("val")
    return (
        isinstance(before, torch.Tensor)
        and isinstance(after, torch.Tensor)
        and before.dtype == after.dtype
        and before.device == after.device
        and before.stride() == after.stride()
    )


def _outside(node: fx.Node) -> Callable[[fx.Node], bool]:
    inside = list(node.meta.get("nn_module_stack") or {})

    def leaves(user: fx.Node) -> bool:
        return list(user.meta.get("nn_module_stack") or {})[: len(inside)] != inside

    return leaves


def _gives_first(target: Any) -> bool:
    """Whether an operator changes its first argument and returns it."""
    arguments, returns = target._schema.arguments, target._schema.returns
    if not arguments or len(returns) != 1:
        return False
    taken, given = arguments[0].alias_info, returns[0].alias_info
    return (
        taken is not None
        and given is not None
        and taken.is_write
        and taken.before_set == given.before_set
    )
