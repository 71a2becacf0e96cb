"""How an exported program is called: its arguments by name, and the batch in its file."""

from __future__ import annotations

import inspect
from inspect import Parameter
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind

from hookcli.errors import ModelError
from hookcli.models.batch import Batch
from hookcli.models.exported.shape_checker import Checker, Dim, ExpectedInput, Range
from hookcli.torch_private import pytree


class Signature:
    """The arguments of a program, in the order of its export."""

    def __init__(self, program: ExportedProgram) -> None:
        call = program.module_call_graph[0].signature
        if call is None:
            raise ValueError("the program has no call signature")
        self._in: Any = call.in_spec
        self._out: Any = call.out_spec
        # A method since torch 2.10, in which `children_specs` is deprecated.
        spec = self._in
        args, kwargs = spec.children() if hasattr(spec, "children") else spec.children_specs
        self._keywords: list[str] = list(kwargs.context)
        self._names = _names(args.num_children, self._keywords, call.forward_arg_names)
        self.expected = _expected_inputs(program, self._in, [*self._names, *self._keywords])
        self.checker = Checker(self.expected, _ranges(program))
        self._constants = self._whole_constants()

    def _whole_constants(self) -> dict[str, Any]:
        """Return the arguments that are a single constant, and so may be omitted."""
        by_label = {expected.label: expected for expected in self.expected}
        return {
            name: by_label[name].constant
            for name in (*self._names, *self._keywords)
            if name in by_label and by_label[name].dims is None
        }

    def of_forward(self) -> inspect.Signature:
        """Return the signature. Arguments exported by keyword may also be passed by position."""
        parameters = [
            Parameter(name, Parameter.POSITIONAL_OR_KEYWORD)
            for name in (*self._names, *self._keywords)
        ]
        seen = False
        for i, parameter in enumerate(parameters):
            if parameter.name in self._constants:
                parameters[i] = parameter.replace(default=self._constants[parameter.name])
                seen = True
            elif seen:  # Python forbids a required argument after one with a default
                parameters[i:] = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in parameters[i:]]
                parameters[i:] = [
                    p.replace(default=self._constants[p.name]) if p.name in self._constants else p
                    for p in parameters[i:]
                ]
                break
        return inspect.Signature(parameters)

    def flatten(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return the leaves of the arguments, in the order of the graph's inputs.

        Raises
        ------
        TypeError : the arguments do not bind.
        ModelError : their structure or sizes differ from the exported ones.
        """
        bound = self.of_forward().bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        tree = (
            tuple(given[name] for name in self._names),
            {name: given[name] for name in self._keywords},
        )
        try:
            leaves: list[Any] = self._in.flatten_up_to(tree)
        except ValueError as error:
            raise ModelError(
                f"the structure of the batch differs from the program's inputs: {error}",
                place="--input",
                hint=f"pass {', '.join(map(self.checker.describe, self.expected))}",
            ) from None
        self.checker.check(leaves)
        return leaves

    def unflatten(self, outputs: Any) -> Any:
        """Return the outputs of forward in the original's structure."""
        return pytree.tree_unflatten(list(outputs), self._out)

    def example(self, program: ExportedProgram) -> tuple[str, Batch]:
        """Return the batch that the program was exported with, or one of the sizes in the file."""
        kept = program.example_inputs
        if kept is not None:
            args, kwargs = kept
            return "the file's example inputs", Batch(tuple(args), dict(kwargs))
        leaves = [self._made(expected) for expected in self.expected]
        args, kwargs = pytree.tree_unflatten(leaves, self._in)
        return "the sizes given in the file", Batch(args, kwargs)

    def _made(self, expected: ExpectedInput) -> Any:
        if expected.dims is None:
            return expected.constant
        sizes = [self.checker.smallest(dim) for dim in expected.dims]
        dtype = expected.dtype or torch.get_default_dtype()
        if dtype.is_floating_point or dtype.is_complex:
            return torch.randn(sizes, dtype=dtype)
        return torch.zeros(sizes, dtype=dtype)  # indices: 0 is in every table


def _names(count: int, keywords: list[str], known: list[str] | None) -> list[str]:
    """Return names of the positional arguments: those of the original forward if they are kept."""
    names = list(known or [])[:count]
    names = [n if n.isidentifier() and n not in keywords else f"input_{i}"
             for i, n in enumerate(names)]  # fmt: skip
    return names + [f"input_{i}" for i in range(len(names), count)]


def _ranges(program: ExportedProgram) -> dict[Any, Range]:
    ranges = {}
    for symbol, values in program.range_constraints.items():
        low, high = _bound(values.lower), _bound(values.upper)
        ranges[symbol] = Range(low, high)
    return ranges


def _bound(value: Any) -> int | None:
    """Return a limit as a number; None if it is infinite (torch writes a huge number)."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None
    return None if abs(number) >= 1 << 62 else number


def _expected_inputs(
    program: ExportedProgram, spec: Any, names: list[str]
) -> tuple[ExpectedInput, ...]:
    """Return what each leaf of the inputs must be, in the order of the graph's placeholders."""
    labels = _labels(spec, names)
    values = {n.name: n.meta.get("val") for n in program.graph.nodes if n.op == "placeholder"}
    inputs = [s for s in program.graph_signature.input_specs if s.kind == InputKind.USER_INPUT]
    expected = []
    for label, input_spec in zip(labels, inputs, strict=True):
        if isinstance(input_spec.arg, ConstantArgument):
            expected.append(ExpectedInput(label, None, constant=input_spec.arg.value))
            continue
        value = values[input_spec.arg.name]
        if isinstance(value, torch.Tensor):
            dims = tuple(_dim(size) for size in value.shape)
            expected.append(ExpectedInput(label, dims, value.dtype))
        else:
            expected.append(ExpectedInput(label, None, constant=value))
    return tuple(expected)


def _dim(size: Any) -> Dim:
    if isinstance(size, int):
        return Dim(size)
    expression = size.node.expr
    return Dim(int(expression)) if expression.is_number else Dim(expression)


def _labels(spec: Any, names: list[str]) -> list[str]:
    """Return each leaf's path: `x`, `batch["ids"]`, `states[0]`."""
    tree = pytree.tree_unflatten(list(range(spec.num_leaves)), spec)
    paths, _ = pytree.tree_flatten_with_path(tree)
    labels = []
    for path, _ in paths:
        keys: list[Any] = list(path)
        part, which, *rest = keys
        name = names[which.idx] if part.idx == 0 else str(which.key)
        labels.append(name + "".join(str(key) for key in rest))
    return labels
