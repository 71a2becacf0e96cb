"""What does not fit into memory is said, and not taken for what has no values or does not run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch

from hookcli.engine.statistics.sketch import Projector
from hookcli.models.bits import same_bits
from hookcli.refusals import raise_if_external
from tests.conftest import ROOT
from tests.source_code import tree_of

PACKAGE = ROOT / "hookcli"
FOLDERS = ("engine", "operators", "models")
BROAD = {"RuntimeError", "Exception", "BaseException"}
# Functions that take any error for an answer, and why memory cannot change it, or is told.
OTHERS = {
    "engine/batch/trials.py": {"attempt": "the error of a trial is shown"},
    "engine/cost/formulas.py": {"flops_of": "shapes only"},
    "engine/cost/training_memory.py": {
        "_saved": "reads attributes of a node", "_data_of": "reads an attribute",
    },
    "engine/diff/exchange.py": {"_save": "writes the same in another format"},
    "engine/diff/weights.py": {"_equal": "compares bits then, which tells it"},
    "engine/distributed.py": {"_received": "a message of another rank"},
    "engine/gradient_path/carried_cuts.py": {"_storage_key": "reads an address"},
    "engine/observe/edges.py": {
        "_storage_of": "reads an address", "_version_of": "reads a count",
        "_input": "reads addresses", "_output": "reads addresses",
    },
    "engine/probes/activations/observer.py": {"_address": "reads an address"},
    "engine/probes/samples/batch_independence.py": {"_memory_of": "reads an address"},
    "engine/probes/gradients/zero_reasons.py": {"_why": "reads attributes of a node"},
    "engine/probes/probes.py": {"_measured": "the error is the reason that is shown"},
    "engine/probes/trainability/patterns/graph_patterns.py": {
        "_note": "reads attributes of a node"
    },
    "engine/probes/trainability/shapes/graph_shapes.py": {"_known": "reads attributes of a node"},
    "engine/probes/trainability/loss_graph.py": {"_look": "reads attributes of a node"},
    "engine/probes/trainability/shared_memory.py": {"_groups": "reads an address"},
    "engine/probes/trainability/unregistered.py": {"_same_memory": "reads an address"},
    "engine/statistics/cache.py": {"_key": "reads an address"},
    "engine/statistics/elements.py": {"of_tensor": "computes the same on the processor"},
    "models/python/construct.py": {"_hints": "resolves annotations"},
    "models/bits.py": {"written": "a string to show", "sized_storage": "reads an address"},
    "models/exported/screening/trust.py": {"_check_pickle": "refuses the file"},
    "models/failures.py": {
        "missing_module": "reads an error", "text_of": "reads an error", "failure_of": "as it is",
    },
    "models/fake/lazy_compiler.py": {"_settings": "reads settings of torch"},
    "models/nested.py": {
        "shape_of": "reads a shape", "_size": "reads a size", "_plain": "a string to show",
        "_repr": "a string to show", "_rank": "reads a placement",
    },
    "models/python/libraries.py": {"_load": "the error is told"},
    "models/sources/torch_files.py": {"of_zip": "reads names"},
    "models/torchscript/tapped.py": {
        "tap": "the graph stays as it is, which is told",
        "instrument": "the graph stays as it is, which is told",
        "_other_difference": "reads two texts",
    },
    "operators/reasons.py": {"at_bad": "reads one element"},
}  # fmt: skip


def caught(kind) -> set[str]:
    if kind is None:
        return {"BaseException"}
    if isinstance(kind, ast.Tuple):
        return {name for one in kind.elts for name in caught(one)}
    return {ast.unparse(kind).rpartition(".")[2]}


def handlers(path: Path) -> set[str]:
    """The functions of a file with a broad handler that neither raises nor looks for memory."""
    tree = tree_of(path)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            broad = not BROAD.isdisjoint(caught(node.type))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
            broad = any(not BROAD.isdisjoint(caught(one)) for one in node.args)
        else:
            continue
        looks = any(
            isinstance(inner, ast.Raise)
            or (isinstance(inner, ast.Name) and inner.id == raise_if_external.__name__)
            for inner in ast.walk(node)
        )
        if broad and not looks:
            around = [f for f in functions if f.lineno <= node.lineno <= (f.end_lineno or 0)]
            found.add(around[-1].name)
    return found


def test_each_function_that_takes_any_error_for_an_answer_is_known():
    found = {}
    for folder in FOLDERS:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            if names := handlers(path):
                found[path.relative_to(PACKAGE).as_posix()] = names
    assert found == {path: set(names) for path, names in OTHERS.items()}


def real_error():
    with pytest.raises(RuntimeError) as caught_here:
        torch.empty(1 << 60, dtype=torch.uint8)
    return caught_here.value


@pytest.mark.parametrize("make", [real_error, MemoryError, torch.OutOfMemoryError])
def test_an_error_for_lack_of_memory_is_known(make):
    with pytest.raises(MemoryError):
        raise_if_external(make())


@pytest.mark.parametrize("error", [RuntimeError("shape [2] is invalid"), ValueError("memory")])
def test_any_other_error_is_not(error):
    raise_if_external(error)


def test_a_sketch_without_memory_is_not_one_of_a_tensor_without_values(monkeypatch):
    projector = Projector()
    monkeypatch.setattr(torch, "randn", lambda *_, **__: torch.empty(1 << 60, dtype=torch.uint8))
    with pytest.raises(MemoryError):
        projector.sketch(torch.ones(3))


def test_bits_without_memory_are_not_compared_as_text(monkeypatch):
    def equal(*_):
        raise real_error()

    monkeypatch.setattr(torch, "equal", equal)
    with pytest.raises(MemoryError):
        same_bits(torch.ones(3), torch.ones(3))
