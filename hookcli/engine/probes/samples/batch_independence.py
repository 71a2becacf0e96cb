"""Whether the output for one sample depends on the other samples: they are replaced to compare.

The batch dimension is found by running one more sample: every output must then grow by one in one
dimension. Scalars are ignored, since a loss depends on all samples. In that run all samples are
copies of the last one, and in the next run copies of the first one, so that no sample sees a
different one. If the output changes in the first of these runs, the reason may be the size of the
batch or noise drawn for each sample. The last sample is then run again in a batch of the original
size.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from hookcli.engine.probes.context import Requests, RerunContext
from hookcli.engine.probes.determinism import as_number, change, repeat
from hookcli.engine.probes.rerun import Outputs, Rerun
from hookcli.engine.probes.samples.mixing import locate, locate_place
from hookcli.engine.probes.samples.sample_parameters import parameter_of_samples
from hookcli.models import module_tree
from hookcli.models.batch import Batch, map_batch
from hookcli.models.bits import same_bits
from hookcli.models.converted.quantized import measures_range
from hookcli.models.eager import EagerModel
from hookcli.models.failures import message_of, type_name
from hookcli.models.nested import argument_leaves, dtype_name, leaves, shape_of
from hookcli.refusals import raise_if_external
from hookcli.report.findings import Measurement
from hookcli.rules.batch_independent import PROBE, limit_of
from hookcli.text import counted, first_line
from hookcli.torch_private import TorchDispatchMode


@dataclass(frozen=True, slots=True)
class _Along:
    """The batch dimension of the inputs, and that of each output.

    `size` is the number of samples. `more` are the outputs for one more sample, with all samples
    copies of the last one; `drew` tells whether that run drew random numbers.
    """

    dim: int
    size: int
    outputs: dict[str, int]
    more: Outputs
    drew: bool


@dataclass(frozen=True, slots=True)
class _Moved:
    """How much an output of one sample changed when the other samples were replaced."""

    relative: float
    output: str
    sample: int
    dtype: str

    @property
    def is_coupled(self) -> bool:
        """Whether the change is larger than rounding."""
        return not self.relative <= limit_of(self.dtype)


@dataclass(frozen=True, slots=True)
class _Not:
    """A dimension that may not be the batch dimension. With `ran` it certainly is not.

    `kept` is an output that has the same shape for another number of samples, with that shape.
    """

    why: str
    ran: bool
    failed: bool = False  # the model raised an error
    kept: tuple[str, torch.Size] | None = None


def samples(again: Rerun, dim: int | None) -> dict[str, Any]:
    """Return the largest change of an output of one sample, or `why` it is unknown."""
    value = _samples(again, dim)
    if value.get("placed") and dim is None and _may_be_nodes(again, int(value["dim"])):
        return {"why": _NODES}
    if value.get("placed") and (cause := _placing(again, value)) is not None:
        return {**value, "mixing": cause}
    coupled = "relative" in value and not float(value["relative"]) <= limit_of(value["dtype"])
    modules = (module for module, _ in module_tree.modules(again.model.root))
    if coupled and any(map(measures_range, modules)):
        return {"why": _QUANTIZED}
    if coupled and dim is None and _may_be_nodes(again, int(value["dim"])):
        return {"why": _NODES}
    if coupled and not _passes_gradient(again, value):
        return {"why": _DETACHED}
    if coupled and (cause := _mixing(again, value)) is not None:
        return {**value, "mixing": cause}
    return value


def _mixing(again: Rerun, value: dict[str, Any]) -> dict[str, Any] | None:
    """Return which function mixes the samples; None if that is not known."""
    dim, kept = value["dim"], value["sample"]
    size = number_of_samples(again.batch, dim) or 0
    others = _alone(again.batch, dim, kept, size)
    another = 0 if kept else size - 1
    own = taken(again.batch, dim, [another if i == kept else i for i in range(size)])
    try:
        return locate(again, (again.batch, others, own), size, kept)
    except Exception as error:  # noqa: BLE001  # the model may refuse the mode
        raise_if_external(error)
        return None


def _placing(again: Rerun, value: dict[str, Any]) -> dict[str, Any] | None:
    """Return which function tells equal samples apart; None if that is not known."""
    size = (
        number_of_samples(again.batch, value["dim"]) or 0
    ) + 1  # which no other dimension has by chance
    copies = _alone(again.batch, value["dim"], 0, size)
    try:
        return locate_place(again, copies, size)
    except Exception as error:  # noqa: BLE001  # the model may refuse the mode
        raise_if_external(error)
        return None


def _passes_gradient(again: Rerun, value: dict[str, Any]) -> bool:
    """Return whether the output of the sample has a gradient with respect to other samples.

    True if that cannot be known, since no input is of floating point.
    """
    size, dim = number_of_samples(again.batch, value["dim"]), value["dim"]

    def leaf(tensor: torch.Tensor) -> torch.Tensor:
        own = tensor.detach().clone()
        return own.requires_grad_() if own.is_floating_point() else own

    if not again.plan.grad:
        return True
    with again.running_predictions(map_batch(again.batch, leaf)) as outputs:
        given = again.running_batch
        inputs = [
            tensor
            for _, tensor, _ in argument_leaves(given.args, given.kwargs)
            if tensor.requires_grad and tensor.dim() > dim and shape_of(tensor)[dim] == size
        ]
        out = outputs[value["output"]]
        if not inputs or not out.requires_grad or size is None or size not in out.shape:
            return True
        kept = value["sample"]
        part = out.narrow(list(out.shape).index(size), kept, 1)
        start = torch.view_as_real(part).sum() if part.is_complex() else part.sum()
        grads = torch.autograd.grad(start, inputs, allow_unused=True)
    others = [grad for grad in grads if grad is not None]
    if not any(bool(grad.any()) for grad in others):
        return True  # nothing depends on the inputs by a gradient, not even the sample itself
    rest = [i for i in range(size or 0) if i != kept]
    return any(bool(grad.index_select(dim, torch.tensor(rest)).any()) for grad in others)


def _may_be_nodes(again: Rerun, dim: int) -> bool:
    """Whether a matrix of the model's own multiplies as many rows as there are samples.

    It is tried with one more sample too, so that no matrix counts that has this size by chance.
    """
    size = number_of_samples(again.batch, dim) or 0
    for many in (size, size + 1):
        products = _MatrixProducts(again.model.root)
        with products:
            again.predictions(_alone(again.batch, dim, size - 1, many))
        if many not in products.sizes:
            return False
    return True


_NODES = (
    "a matrix of the model mixes the rows of dimension 0, which may count nodes: set dim to the "
    "batch dimension"
)
_DETACHED = "only values without a gradient, such as a range, pass from one sample to another"
_QUANTIZED = "layers quantize with the range of all samples, which couples them by rounding"


def _samples(again: Rerun, dim: int | None) -> dict[str, Any]:
    base = again.base_predictions()
    along = _nothing_to_replace(again.batch, dim or 0) or _along(again, base, dim or 0)
    if isinstance(along, str):
        return {"why": along}
    if isinstance(along, _Along):
        moved = _moved(again, base, along)
        if not isinstance(moved, str) and moved.is_coupled and dim is None:
            moved = _UNCLEAR if _may_be_time(again, base) else moved
        return _result(along, moved)
    if along.ran and dim is None and (alone := _of_one_sample(again, base)) is not None:
        return alone
    if along.failed and (sized := _of_samples(again, dim or 0)) is not None:
        return sized
    other = None if dim is not None else _along(again, base, 1)
    if not isinstance(other, _Along):
        why = f"the batch dimension is unknown: {along.why}"
        return {"why": why, **(_lost_samples(again, along) if dim is None else {})}
    moved = _moved(again, base, other)
    if not isinstance(moved, str) and moved.is_coupled and not along.ran:
        moved = f"the batch dimension is unknown: {along.why}"
    return _result(other, moved)


def _lost_samples(again: Rerun, along: _Not) -> dict[str, Any]:
    """Return the output of a batch of pictures whose rows do not count them; else nothing.

    An output of one row, or without dimensions, may be that of all samples.
    """
    tensors = [t for _, t, _ in argument_leaves(again.batch.args, again.batch.kwargs)]
    pictures = bool(tensors) and tensors[0].dim() > 3 and tensors[0].is_floating_point()
    if along.kept is None or not pictures or len(along.kept[1]) < 2 or along.kept[1][0] < 2:
        return {}
    path, shape = along.kept
    return {"lost": [*shape], "output": path, "samples": len(tensors[0])}


def _of_samples(again: Rerun, dim: int) -> dict[str, Any] | None:
    """Return the parameter that has an entry for each sample, if that is why no other size runs."""
    size = number_of_samples(again.batch, dim) or 0
    tensors = [t for _, t, _ in argument_leaves(again.batch.args, again.batch.kwargs)]
    # A parameter for each row of a matrix may be one for each node of a graph.
    if size < 3 or not isinstance(again.model, EagerModel) or tensors[0].dim() < 3:
        return None
    return parameter_of_samples(again, taken(again.batch, dim, [*range(size - 1)]), size)


def has_time_first(again: Rerun) -> bool:
    """Return whether dimension 0 is time, and dimension 1 the samples: it is found out once."""
    if again.time_is_first is None:
        again.time_is_first = _samples(again, None).get("why") == _UNCLEAR
    return again.time_is_first


_UNCLEAR = "outputs grow along dimensions 0 and 1: set dim to the batch dimension"


def _of_one_sample(again: Rerun, base: Outputs) -> dict[str, Any] | None:
    """Return the sample that alone determines the outputs, if it is the first or the last one."""
    size = number_of_samples(again.batch, 0) or 0
    kept = {path: tensor for path, tensor in base.items() if tensor.dim() and _is_compared(tensor)}
    if size < 3 or not kept or _nothing_to_replace(again.batch, 0):
        return None
    alone = []
    for sample in (0, size - 1):
        output = again.predictions(_alone(again.batch, 0, sample, size))
        if all(path in output and same_bits(t, output[path]) for path, t in kept.items()):
            alone.append(sample)
    if len(alone) != 1:  # all outputs may be constant
        return None
    return {"samples": size, "dim": 0, "only": alone[0], "output": next(iter(kept))}


def _places(along: _Along) -> str | None:
    """Return the output that differs between copies of one sample, by their places in the batch."""
    for path, dim in along.outputs.items():
        made = along.more[path]
        if not along.drew and _is_compared(made):
            first = made.narrow(dim, 0, 1).expand_as(made)
            if not change(first, made) <= limit_of(dtype_name(made.dtype)):
                return path
    return None


def _result(along: _Along, moved: _Moved | str) -> dict[str, Any]:
    """Return the value of the measurement."""
    if isinstance(moved, str):
        return {"why": moved}
    if not moved.is_coupled and (path := _places(along)) is not None:
        return {"samples": along.size, "dim": along.dim, "placed": True, "output": path}
    return {
        "dim": along.dim,
        "samples": along.size,
        "relative": as_number(moved.relative),
        "output": moved.output,
        "sample": moved.sample,
        "dtype": moved.dtype,
    }


def _may_be_time(again: Rerun, base: Outputs) -> bool:
    """Whether dimension 1 may be the batch, so that dimension 0, which is coupled, is time."""
    along = _along(again, base, 1)
    if isinstance(along, _Not):
        return False
    moved = _moved(again, base, along)
    return isinstance(moved, str) or not moved.is_coupled


def number_of_samples(batch: Batch, dim: int) -> int | None:
    """Return the number of samples along a dimension, from the first input that has it."""
    for _, tensor, _ in argument_leaves(batch.args, batch.kwargs):
        if tensor.dim() > dim:
            return shape_of(tensor)[dim]
    return None


def _nothing_to_replace(batch: Batch, dim: int) -> str:
    """Return why no sample can be replaced by a different one; "" if one can."""
    size = number_of_samples(batch, dim)
    if size is None:
        return f"no input has a dimension {dim}"
    if size < 2:
        return f"dimension {dim} has {counted(size, 'sample')}: pass `--batch-size 2`"
    if _same(_alone(batch, dim, size - 1, size), batch):
        return "all samples of the batch are equal: replacing them changes nothing"
    return ""


def _along(again: Rerun, base: Outputs, dim: int) -> _Along | _Not:
    """Return the batch dimension of each output, or why this is not the batch dimension."""
    size = number_of_samples(again.batch, dim)
    if size is None or size < 2:
        return _Not(f"no input has two samples along dimension {dim}", ran=False)
    try:
        more = again.predictions(_alone(again.batch, dim, size - 1, size + 1))
    except Exception as error:  # noqa: BLE001  # the user's code may raise anything
        raise_if_external(error)
        reason = f"{type_name(error)}: {first_line(message_of(error))}"
        return _Not(
            f"{size + 1} samples along dimension {dim} failed: {reason}", False, failed=True
        )
    outputs, drew = {}, again.draws
    for path, tensor in base.items():
        if tensor.is_nested:
            return _Not(f"output{path} is a nested tensor", ran=False)
        if tensor.dim() == 0 or path not in more:
            continue
        grown = _grown(tensor.shape, more[path].shape, size)
        if grown is None:
            reason = f"output{path} does not grow with the samples along dimension {dim}"
            is_same = tensor.shape == more[path].shape
            return _Not(reason, ran=True, kept=(path, tensor.shape) if is_same else None)
        outputs[path] = grown
    if not outputs or more.keys() != base.keys():
        return _Not(f"no output grows with the samples along dimension {dim}", ran=True)
    return _Along(dim, size, outputs, more, drew)


def _grown(before: torch.Size, after: torch.Size, size: int) -> int | None:
    """Return the only dimension that grew, from the number of samples to one more; else None."""
    if len(before) != len(after):
        return None
    changed = [i for i, (b, a) in enumerate(zip(before, after, strict=True)) if a != b]
    if len(changed) != 1 or (before[changed[0]], after[changed[0]]) != (size, size + 1):
        return None
    return changed[0]


def _moved(again: Rerun, base: Outputs, along: _Along) -> _Moved | str:
    """Return the output that changed most, for the first and for the last sample.

    For the last sample the run with one more sample is used. If an output changed there, the last
    sample is run again in a batch of the original size.
    """
    kept = {path: base[path] for path in along.outputs if _is_compared(base[path])}
    if not kept:
        return "no output has floating-point values to compare"
    first = _alone_and_moved(again, kept, along, 0)
    if isinstance(first, str) or first.is_coupled:
        return first
    last = _most(kept, along.more, along, along.size - 1, everywhere=True)
    if last.is_coupled:
        same_size = _alone_and_moved(again, kept, along, along.size - 1)
        if isinstance(same_size, str):
            return same_size
        last = same_size
    return max(first, last, key=lambda move: move.relative)


def _alone_and_moved(again: Rerun, base: Outputs, along: _Along, kept: int) -> _Moved | str:
    """Return the output that changed most for a sample when copies of it replace the others."""
    output = again.predictions(_alone(again.batch, along.dim, kept, along.size))
    for path, tensor in base.items():
        if path not in output or shape_of(output[path]) != shape_of(tensor):
            return f"the shape of output{path} depends on the other samples"
    return _most(base, output, along, kept, everywhere=False)


def _most(base: Outputs, output: Outputs, along: _Along, kept: int, *, everywhere: bool) -> _Moved:
    """Return the output that changed most for a sample.

    With `everywhere` all samples of `output` are compared, since all are copies of it.
    """
    moves = []
    for path, tensor in base.items():
        dim, other = along.outputs[path], output[path]
        before = tensor.narrow(dim, kept, 1)
        after = other if everywhere else other.narrow(dim, kept, 1)
        relative = change(before.expand_as(after), after)
        relative = float("inf") if relative != relative else relative
        moves.append(_Moved(relative, path, kept, dtype_name(tensor.dtype)))
    return max(moves, key=lambda move: move.relative)


def _is_compared(tensor: torch.Tensor) -> bool:
    plain = tensor.layout is torch.strided and not tensor.is_nested
    return plain and (tensor.is_floating_point() or tensor.is_complex())


def _alone(batch: Batch, dim: int, kept: int, many: int) -> Batch:
    """Return a batch with `many` copies of the sample `kept`."""
    return taken(batch, dim, [kept] * many)


def taken(batch: Batch, dim: int, which: list[int]) -> Batch:
    """Return a batch of these samples."""
    size = number_of_samples(batch, dim)

    def chosen(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dim() <= dim or shape_of(tensor)[dim] != size:
            return tensor
        return tensor.index_select(dim, torch.tensor(which, device=tensor.device))

    return map_batch(batch, chosen)


def _same(batch: Batch, other: Batch) -> bool:
    pairs = zip(
        argument_leaves(batch.args, batch.kwargs),
        argument_leaves(other.args, other.kwargs),
        strict=True,
    )
    return all(a is b or same_bits(a, b) for (_, a, _), (_, b, _) in pairs)


def measure(requests: Requests, context: RerunContext) -> list[Measurement]:
    """Measure whether samples are independent, if two runs with the same seed agree."""
    results = [_measured(context.again, request.given().get("dim")) for request in requests]
    return [Measurement(PROBE, "", None, value, None) for value in results]


def _measured(again: Rerun, dim: int | None) -> dict[str, Any]:
    if repeat(again, "eval")["differ"]:
        return {"why": "two runs with the same seed differ"}
    return samples(again, dim)


# A matrix of the model may mix dimension 0 of its inputs, as the adjacency of a graph does.
# Dimension 0 then counts nodes, not samples, although the model may run with any number of them.

# The operators that multiply by a matrix from the left, and the position of that matrix.
_PRODUCTS = {"mm": 0, "bmm": 0, "addmm": 1, "baddbmm": 1, "_sparse_mm": 0, "matmul": 0}


class _MatrixProducts(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees the square matrices that multiply values of the inputs from the left.

    `sizes` are those of matrices which only parameters and buffers determine.
    """

    def __init__(self, root: torch.nn.Module) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.sizes: set[int] = set()
        self._kept: list[Any] = []  # memory that is not reused while the model runs
        self._memory: set[int] = set()
        self._made: dict[int, weakref.ref[torch.Tensor]] = {}
        for module, _ in module_tree.modules(root):
            for tensor in (*module._parameters.values(), *module._buffers.values()):
                if tensor is not None:
                    self._note(tensor)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run the operator; note its result if all tensors that it gets are the model's own."""
        kwargs = kwargs or {}
        given = list(_tensors((args, kwargs)))
        own = [self._is_own(tensor) for tensor in given]
        left = _PRODUCTS.get(str(func.__name__).partition(".")[0])
        if left is not None and not all(own):
            self._multiply(args[left])
        result = func(*args, **kwargs)
        if given and all(own):
            for tensor in _tensors(result):
                self._note(tensor)
        return result

    def _multiply(self, matrix: torch.Tensor) -> None:
        rows, columns = matrix.shape[-2:]
        if rows == columns and self._is_own(matrix):
            self.sizes.add(rows)

    def _is_own(self, tensor: torch.Tensor) -> bool:
        made = self._made.get(id(tensor))
        return (made is not None and made() is tensor) or _memory_of(tensor) in self._memory

    def _note(self, tensor: torch.Tensor) -> None:
        """Note a tensor as the model's own; and its memory, which its views share."""
        self._made[id(tensor)] = weakref.ref(tensor)
        memory = _memory_of(tensor)
        if memory is not None:
            self._kept.append(tensor.untyped_storage())
            self._memory.add(memory)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    for _, tensor, _ in leaves(value):
        yield tensor


def _memory_of(tensor: torch.Tensor) -> int | None:
    try:
        address: int = tensor.untyped_storage()._cdata
    except (RuntimeError, NotImplementedError):  # a tensor without a storage, as a sparse one
        return None
    return address
