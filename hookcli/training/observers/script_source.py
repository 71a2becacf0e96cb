"""Mistakes that the source of a script shows: values that are not read, lost assignments."""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from hookcli.engine.probes.code.mistakes.catalogue import MOST_TEXT, mistakes_of_text
from hookcli.engine.probes.code.user_source import own_sources, parsed
from hookcli.engine.probes.losses.loss_nodes import compares_two_outputs
from hookcli.engine.probes.trainability.loss_graph import nodes_behind
from hookcli.models import places
from hookcli.training.backward import only_tensor
from hookcli.training.observers.observer import Observer, line_of
from hookcli.training.record.records import Record
from hookcli.training.root_watch import RootWatch
from hookcli.training.script.watched_function import TorchCall
from hookcli.training.source.average_code import averages_that_move_away
from hookcli.training.source.data_code import separate_draws
from hookcli.training.source.evaluation_code import (
    argmax_of_all,
    argmax_of_rows,
    blocks,
    dropped_labels,
    overwritten_sums,
    unread_targets,
)
from hookcli.training.source.frame_source import body_of, loss_place, user_frame
from hookcli.training.source.loss_code import replaced_losses, zero_terms
from hookcli.training.source.loss_source import unread_tensors

# Mistakes that another observer sees where they have an effect.
_SEEN_IN_RUNS = {"misspelled", "frozen_embedding"}
_LOOK = 3  # the backward pass of a line at which its function is read: all variables exist then
_IN_CODE: dict[str, Callable[[ast.AST], Iterator[tuple[str, int]]]] = {
    "overwritten_sum": overwritten_sums,
    "argmax_of_all": argmax_of_all,
    "argmax_of_one": argmax_of_rows,
    "dropped_labels": dropped_labels,
    "separate_draws": separate_draws,
    "moves_away": averages_that_move_away,
    "replaced_loss": replaced_losses,
    "zero_term": zero_terms,
}
_NEAR = 100  # nodes from the loss
# Losses of values, of which a model may return one for each sample.
_OF_VALUES = {"BinaryCrossEntropyBackward0", "BinaryCrossEntropyWithLogitsBackward0",
              "MseLossBackward0"}  # fmt: skip
_OVER = {"parameters", "named_parameters"}  # whose results a loop goes over


class ScriptSource(Observer):
    """Reads the functions that call backward, and at the end the loops over parameters."""

    kinds = ("code_mistake", "unread_value", "unread_target", "lost_assignment", "thawed_again",
             *_IN_CODE)  # fmt: skip
    before = {"backward": "backward"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._passes: dict[Any, int] = {}
        self._tensors: dict[int, list[Any]] = {}  # by the id of a record: the parameters
        self._frozen: set[int] = set()  # records with a parameter that was frozen
        self._outputs: set[int | None] = set()  # how many each loss gets for a sample

    def backward(self, call: TorchCall) -> None:
        """Note the tensors that the function of a line computes and never reads."""
        line = line_of(call)
        passes = self._passes[line] = self._passes.get(line, 0) + 1
        if passes != _LOOK:
            return
        frame = user_frame(call.frame)
        if frame is None:
            return
        self.facts.look(*(kind for kind in self.kinds if kind != "code_mistake"))
        for name, number in unread_tensors(frame):
            file = places.show(frame.f_code.co_filename)
            self.facts.add("unread_value", name, f"{file}:{number}")
        start, body = only_tensor(call.argument(0, "tensors")), body_of(frame)
        self._outputs.add(None if start is None else _outputs_of(start))
        if start is None or body is None or not compares_two_outputs(start):
            return
        for name in unread_targets(body):
            self.facts.add("unread_target", name, loss_place(frame))

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Note whether a parameter of the models is frozen."""
        for record in records:
            tensors = self._tensors.get(id(record))
            if tensors is None:
                tensors = [info.tensor for info in record.model.parameters()]
                self._tensors[id(record)] = tensors
            if id(record) not in self._frozen and _has_frozen(tensors):
                self._frozen.add(id(record))

    def forget(self, root: RootWatch, records: Sequence[Record]) -> None:
        """Forget the parameters of records."""
        for record in records:
            self._tensors[id(record)] = []

    def finish(self) -> None:
        """Add what the loops of the script over parameters do not do."""
        if not self._tensors:
            return
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        files = {line[0] for line in self._passes if line is not None} | {main or ""}
        for file in sorted(one for one in files if places.is_user(one)):
            shown = places.show(file)
            for kind, what, line in _mistakes_of("".join(linecache.getlines(file))):
                if kind == "argmax_of_one" and self._outputs != {1}:
                    continue
                self.facts.add(kind, what, f"{shown}:{line}")
        own = own_sources()
        self._read_files(sorted(files, key=lambda file: file != main), own)
        thaws = not self._frozen
        for file, text in own:
            if "parameters(" not in text:
                continue
            shown, (lost, thawed) = places.show(file), _loops_of(text)
            for assigned, line in lost:
                self.facts.add("lost_assignment", assigned, f"{shown}:{line}")
            for first, second in thawed if thaws else ():
                self.facts.add("thawed_again", "", f"{shown}:{second}", frozen=f"{shown}:{first}")

    def _read_files(self, files: list[str], own: list[tuple[str, str]]) -> None:
        """Add the mistakes in the files of the script, these first, as far as they are short."""
        texts = {file: "".join(linecache.getlines(file)) for file in files if places.is_user(file)}
        texts |= dict(own)
        size = 0
        for file, text in texts.items():
            size += len(text)
            if size > MOST_TEXT:
                return
            for mistake, found in mistakes_of_text(text):
                if mistake in _SEEN_IN_RUNS:
                    continue
                place = f"{places.show(file)}:{found.line}"
                self.facts.add("code_mistake", mistake, place, what=found.what, other=found.other)
        self.facts.look("code_mistake")  # in all files


def _outputs_of(start: torch.Tensor) -> int | None:
    """Return how many values a loss gets for each sample; None if it has several, or another."""
    nodes = itertools.islice(nodes_behind(start), _NEAR)
    losses = [node for node in nodes if node.name() in _OF_VALUES]
    if len(losses) != 1:
        return None
    try:
        shape = losses[0]._saved_self.shape
    except RuntimeError:  # changed in place
        return None
    return int(shape[1]) if len(shape) == 2 else None


def _has_frozen(tensors: list[Any]) -> bool:
    for tensor in tensors:  # noqa: SIM110  # a generator takes longer, at each step of a training
        if not tensor.requires_grad:
            return True
    return False


@functools.lru_cache(maxsize=256)
def _mistakes_of(text: str) -> list[tuple[str, str, int]]:
    """Return the mistakes that the code of a file shows: kind, what and line."""
    tree = parsed(text)
    if tree is None:
        return []
    return [(kind, what, line) for kind, find in _IN_CODE.items() for what, line in find(tree)]


@functools.lru_cache(maxsize=4096)
def _loops_of(text: str) -> tuple[list[tuple[str, int]], list[tuple[int, int]]]:
    """Return the lost assignments and the thawed parameters of a file."""
    tree = parsed(text)
    if tree is None or not _over_parameters(tree):
        return [], []
    return list(_lost_assignments(tree)), list(_thawed_again(tree))


def _over_parameters(tree: ast.Module) -> list[ast.For]:
    """Return the loops of a file over the parameters of modules."""
    nodes = list(ast.walk(tree))
    loops = [node for node in nodes if isinstance(node, ast.For)]
    if not loops:
        return []
    named = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and _is_of_parameters(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return [
        loop
        for loop in loops
        if _is_of_parameters(loop.iter)
        or (isinstance(loop.iter, ast.Name) and loop.iter.id in named)
    ]


def _is_of_parameters(node: ast.expr) -> bool:
    """Return whether an expression calls `parameters()` or `named_parameters()`."""
    return any(isinstance(one, ast.Attribute) and one.attr in _OVER for one in ast.walk(node))


def _lost_assignments(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield assignments to the variable of a loop over parameters that nothing reads after it."""
    found = set(map(id, _over_parameters(tree)))
    for block in blocks(tree):
        for loop in block:
            if not isinstance(loop, ast.For) or id(loop) not in found:
                continue
            own = {one.id for one in ast.walk(loop.target) if isinstance(one, ast.Name)}
            for node in ast.walk(loop):
                if not isinstance(node, ast.Assign) or len(node.targets) != 1:
                    continue
                target = node.targets[0]
                if not isinstance(target, ast.Name) or target.id not in own:
                    continue
                end = node.end_lineno or node.lineno
                later = (
                    one
                    for one in ast.walk(tree)
                    if isinstance(one, ast.Name)
                    and one.id == target.id
                    and isinstance(one.ctx, ast.Load)
                    and end < one.lineno <= _end_of(block)
                )
                if not any(later):
                    yield " ".join(ast.unparse(node).split()), node.lineno


def _end_of(block: list[ast.stmt]) -> int:
    return max(node.end_lineno or node.lineno for node in block)


def _thawed_again(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """Yield the lines of two loops of a block: one freezes parameters, the next unfreezes all."""
    found = _over_parameters(tree)
    for block in blocks(tree):
        frozen: int | None = None
        for loop in (node for node in found if any(node is one for one in block)):
            thaws = _sets(loop.body, value=True)
            freezes = _sets(list(ast.walk(loop)), value=False)
            if frozen is not None and thaws is not None and freezes is None:
                yield frozen, thaws
            frozen = freezes if freezes is not None else None if thaws is not None else frozen


def _sets(nodes: Sequence[ast.AST], *, value: bool) -> int | None:
    """Return the line that sets `requires_grad` of something to a value."""
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            target = node.targets[0]
            named = isinstance(target, ast.Attribute) and target.attr == "requires_grad"
            if named and node.value.value is value:
                return node.lineno
    return None
