"""Settings and values of the modules that ran which are seldom meant.

`batch_norms`: batch norms whose running statistics are those of the last batch, or never change, or
that ran in eval mode with the statistics of a new module. `trained_masks`: parameters with the
values of an additive mask. `equal_units`: layers all of whose units have equal weights and equal
gradients.
`frozen_norms`: batch norms that train although their weights are frozen, or that were in eval mode.
`high_dropout`: dropout of most values.
`padding_vectors`: embeddings whose vector of padding is not zero. `inverted_masks`: masks of
padding that hide everything else. `position_tensors`: tensors with positions, by their name, and
attentions to tokens. `position_tables`: sines of positions that do not tell positions apart.
`open_decoders`: decoders of tokens that get no mask. `padded_inputs`: inputs most of whose samples
end with padding.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

import torch
from torch import nn

from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.prepare import was_in_eval_mode
from hookcli.engine.probes.activations.masks import FUSED
from hookcli.engine.probes.context import ProbeWatcher, Requests, where_possible
from hookcli.engine.probes.samples.padding import padded_ends
from hookcli.engine.probes.trainability.loss_graph import Node, nodes_behind, place_of
from hookcli.hooks.attach.graph import saved_tensor
from hookcli.models import module_tree, places
from hookcli.models.batch import Batch
from hookcli.models.model import Call, CallInputs, Model
from hookcli.models.nested import argument_leaves, leaves
from hookcli.report.findings import Measurement
from hookcli.spec.request import Spec
from hookcli.torch_private import BatchNormBase, DropoutBase

NORMS, MASKS, UNITS = "batch_norms", "trained_masks", "equal_units"
FROZEN, PADDING, INVERTED = "frozen_norms", "padding_vectors", "inverted_masks"
POSITIONS, DROPOUT = "position_tensors", "high_dropout"
TABLES = "position_tables"
DECODERS, PADDED = "open_decoders", "padded_inputs"
_MOSTLY = 0.8  # the probability of dropping a value
_QUICK = 0.9  # a momentum: the share of the last batch in the running statistics
_MASKED = -1e4  # a score that a softmax turns into zero, also in half precision
_LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
_ROUNDED = 1e-5  # of the largest gradient
_SEQUENCE = 3  # positions
_TABLE = 16  # rows
_WAVES = 0.3  # the standard deviation of a column of a table; that of a sine is 0.7
_MOST = 8  # tensors or rows that are looked at
_LARGEST = 2**22  # elements of a parameter that may be a mask
_ATTENTION = (nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerEncoder)
_DECODERS = (nn.Transformer, nn.TransformerDecoder, nn.TransformerDecoderLayer)
_NEAR = 100  # nodes between the target of a decoder and its embedding
_POSITION = re.compile(
    r"(^|[._])(pos|pe|position|positions|positional|pos_\w+|position\w*_\w+)($|\.)"
)


class ModuleValues(ProbeWatcher):
    """Looks at the modules of the first step."""

    def __init__(self, probes: tuple[str, ...]) -> None:
        self.measurements = []
        self._probes = probes
        self._root: nn.Module | None = None
        self._seen: set[str] = set()
        self._has_looked = False

    def begin(self, model: Model) -> None:
        """Forget an earlier run, and look at the parameters."""
        self.measurements.clear()
        self._root, self._seen, self._has_looked = model.root, set(), False
        for probe in self._probes:
            self._add(probe, "", {"count": 1})
        self._calls: dict[int, Call] = {}
        self._lengths: set[tuple[int, ...]] = set()  # shapes of the ids of the batch
        self._open: tuple[Call, torch.Size] | None = None  # the first decoder without a mask
        self._learns_positions = False  # whether a tensor may have positions
        self._embedded: tuple[int, ...] = ()  # the shape of the ids that were looked up last
        self._padded: list[torch.Tensor] = []  # where the inputs of embeddings are padding
        for info in (*model.parameters(), *model.buffers()) if POSITIONS in self._probes else ():
            with where_possible():
                is_named = _POSITION.search(info.name.lower()) is not None
                if is_named and _tells_rows_apart(info.tensor):
                    self._add(POSITIONS, info.name, {"shape": [*info.tensor.shape]})
                # What is zero may learn them.
                self._learns_positions |= is_named or _is_zero(info.tensor)
        for info in model.buffers() if TABLES in self._probes else ():
            with where_possible():
                found = _table(info.tensor)
                if found is not None:
                    self._add(TABLES, info.name, found)
        for info in model.parameters() if MASKS in self._probes else ():
            with where_possible():
                if info.tensor.requires_grad and _is_mask(info.tensor):
                    self._add(MASKS, info.name, {"shape": [*info.tensor.shape]})

    def look_at(self, model: Model) -> None:
        """Look at a model in a training: at the gradients of a step."""
        self.begin(model)
        place = places.of_class(type(model.root))
        for name, module in module_tree.named(model.root):
            with where_possible():
                if isinstance(module, BatchNormBase) and module.training:
                    self._norm(name, module, place)
                elif isinstance(module, DropoutBase):
                    self._dropout(name, module, place)
        self.gradients(model)

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Look at a batch norm, an embedding or an attention when it runs."""
        module = call.module
        self._calls[call.order] = call
        if call.parent is None and PADDED in self._probes and not self._has_looked:
            with where_possible():
                padded = padded_ends(*batch)
                if padded is not None and PADDED not in self._seen:
                    self._seen.add(PADDED)
                    self._add(PADDED, "", padded.facts())
        if DECODERS in self._probes and not self._has_looked:
            with where_possible():
                self._decoder(call, batch)
        if isinstance(module, (nn.Embedding, *_ATTENTION)) and not self._has_looked:
            with where_possible():
                self._tokens(call, module, batch)
            return
        if isinstance(module, DropoutBase) and call.name not in self._seen:
            self._seen.add(call.name or "")
            self._dropout(call.name or "", module, call.place)
        if not isinstance(module, BatchNormBase) or NORMS not in self._probes:
            return
        if call.name is None or call.name in self._seen or self._root is None:
            return
        self._seen.add(call.name)
        with where_possible():
            self._norm(call.name, module, call.place)

    def _decoder(self, call: Call, batch: CallInputs) -> None:
        """Note the shapes of ids, and the first decoder that gets tokens and no mask."""
        args, kwargs = batch
        if call.parent is None:
            given = (tensor for _, tensor, _ in argument_leaves(args, kwargs))
            self._lengths |= {tuple(t.shape) for t in given if t.dim() == 2 and _is_integer(t)}
        if self._open is not None or not isinstance(call.module, _DECODERS) or not self._lengths:
            return
        first = int(isinstance(call.module, nn.Transformer))  # it gets the source before
        target = args[first] if len(args) > first else kwargs.get("tgt")
        # One that passes None has a mask for other batches.
        masked = len(args) > 2 + first or "tgt_mask" in kwargs or kwargs.get("tgt_is_causal")
        if masked or not isinstance(target, torch.Tensor):
            return
        above = self._calls.get(-1 if call.parent is None else call.parent)
        if above is not None and isinstance(above.module, _DECODERS):
            return  # a part of it
        if target.dim() == 3 and _is_of_tokens(target, self._lengths):
            self._open = call, target.shape

    def forward_ended(self, model: Model, batch: Batch, output: Any) -> None:
        """Note the decoder without a mask, if the model returns a vector for each of its tokens.

        If the model returns its loss alone, the targets of that tell whether it has one.
        """
        found, self._open = self._open, None
        if found is None:
            return
        call, (first, second, _) = found
        wanted = {(first, second), (second, first)}
        shapes = [tensor.shape for _, tensor, _ in leaves(output) if tensor.dim() == 3]
        only_loss = not any(tensor.dim() for _, tensor, _ in leaves(output))
        if only_loss or any(tuple(shape[:2]) in wanted for shape in shapes):
            value = {"type": call.type, "place": call.place, "only_loss": only_loss}
            self._add(DECODERS, call.name or "", value)

    def _norm(self, name: str, module: BatchNormBase, place: str | None) -> None:
        is_training = self._root is not None and self._root.training
        momentum = module.momentum
        if module.training and module.track_running_stats and momentum is not None:
            # With other statistics, a momentum of 0 keeps them on purpose.
            if momentum >= _QUICK or (momentum == 0 and _is_standard(module)):
                self._add(NORMS, name, {"momentum": float(momentum), "place": place})
        elif not module.training and is_training and _is_new(module):
            self._add(NORMS, name, {"momentum": None, "place": place})
        if not module.training or not module.track_running_stats or FROZEN not in self._probes:
            return
        weights = list(module.parameters(recurse=False))
        frozen = bool(weights) and not any(one.requires_grad for one in weights)
        if frozen or was_in_eval_mode(module):
            value = {"frozen": frozen, "eval": was_in_eval_mode(module), "place": place}
            self._add(FROZEN, name, value)

    def _dropout(self, name: str, module: DropoutBase, place: str | None) -> None:
        if DROPOUT in self._probes and module.training and _MOSTLY <= module.p < 1:
            self._add(DROPOUT, name, {"p": float(module.p), "place": place})

    def _tokens(self, call: Call, module: nn.Module, batch: CallInputs) -> None:
        """Look at the vector of padding, and whether masks hide it."""
        args, kwargs = batch
        if isinstance(module, nn.Embedding):
            ids, pad = args[0] if args else None, module.padding_idx
            if isinstance(ids, torch.Tensor) and ids.dim() == 2 and ids.shape[1] >= _SEQUENCE:
                self._embedded = tuple(ids.shape)
            if pad is None or not isinstance(ids, torch.Tensor) or ids.dim() != 2:
                return
            padded = ids == pad
            self._padded += [padded] if len(self._padded) < _MOST else []
            vector, name = module.weight.detach()[pad], call.name or ""
            looks = PADDING in self._probes and module.weight.requires_grad
            if looks and name not in self._seen and bool(padded.any()) and bool(vector.any()):
                self._seen.add(name)
                self._add(PADDING, name, {"token": pad, "place": call.place})
            return
        given = args[0] if args else None
        looks = POSITIONS in self._probes and not self._learns_positions
        if self._embedded and isinstance(given, torch.Tensor) and looks:
            is_of_tokens = tuple(given.shape[:2]) in {self._embedded, self._embedded[::-1]}
            if given.dim() == 3 and is_of_tokens and "attention" not in self._seen:
                self._seen.add("attention")
                value = {"attention": call.type, "place": call.place}
                self._add(POSITIONS, call.name or "", value)
        for key in ("key_padding_mask", "src_key_padding_mask"):
            mask = kwargs.get(key)
            if INVERTED not in self._probes or not isinstance(mask, torch.Tensor):
                continue
            hidden = mask if mask.dtype is torch.bool else mask < _MASKED
            for padded in self._padded:
                found = padded.shape == hidden.shape and bool(padded.any())
                if found and torch.equal(hidden, ~padded) and INVERTED not in self._seen:
                    self._seen.add(INVERTED)
                    self._add(INVERTED, call.name or "", {"argument": key, "place": call.place})

    def graph(self, start: torch.Tensor, owners: NodeOwners) -> None:
        """Look at the masks that fused attentions saved, which hide no key where they are True."""
        calls, self._calls = self._calls, {}
        if not self._padded or INVERTED not in self._probes or self._has_looked:
            return
        for node in nodes_behind(start):
            if node.name() in FUSED and INVERTED not in self._seen:
                with where_possible():
                    self._fused(node, *place_of(node, owners, calls))

    def _fused(
        self, node: Node, name: str, _index: int | None, where: tuple[str | None, str | None]
    ) -> None:
        mask = saved_tensor(node, FUSED[node.name()])
        if mask is None or mask.dim() != 4 or not bool((mask == mask[:, :1, :1]).all()):
            return
        hidden = mask[:, 0, 0] < _MASKED
        for padded in self._padded:
            if padded.shape == hidden.shape and torch.equal(hidden, ~padded) and padded.any():
                self._seen.add(INVERTED)
                self._add(INVERTED, name, {"argument": "attn_mask", "place": where[1]})
                return

    def gradients(self, model: Model) -> None:
        """Look at the weights and their gradients."""
        if self._has_looked or UNITS not in self._probes or self._root is None:
            return
        self._has_looked = True
        for name, module in module_tree.named(self._root):
            if isinstance(module, _LAYERS) and type(module) in _LAYERS:
                with where_possible():
                    count = _equal_units(module.weight)
                    if count:
                        self._add(UNITS, name, {"units": count})
                continue
            # A matrix of a layer that is written by hand, whose units are rows or columns.
            for own, parameter in module._parameters.items():
                if parameter is None or parameter.dim() != 2 or not parameter.requires_grad:
                    continue
                with where_possible():
                    count = _equal_units(parameter) or _equal_units(parameter, dim=1)
                    if count:
                        self._add(UNITS, f"{name}.{own}" if name else own, {"units": count})

    def _add(self, probe: str, name: str, value: dict[str, Any]) -> None:
        self.measurements.append(Measurement(probe, name, None, value, None))


def _is_integer(tensor: torch.Tensor) -> bool:
    return tensor.dtype in {torch.int32, torch.int64}


def _is_of_tokens(target: torch.Tensor, given: set[tuple[int, ...]]) -> bool:
    """Return whether a target is made of the vectors of ids, of which each sample has its own.

    `given` has the shapes of the ids of the batch. A decoder may get one token less.
    """
    sizes = {tuple(target.shape[:2]), (target.shape[1], target.shape[0])}
    for node in islice(nodes_behind(target), _NEAR):
        ids = node._saved_indices if node.name() == "EmbeddingBackward0" else None
        if ids is None or ids.dim() != 2 or tuple(ids.shape) not in sizes or ids.is_meta:
            continue
        rows, columns = ids.shape
        near = {(rows, columns + more) for more in (0, 1)} | {(rows + 1, columns)}
        same = bool((ids == ids[:1]).all()) or bool((ids == ids[:, :1]).all())
        if not same and near & (given | {shape[::-1] for shape in given}):
            return True
    return False


def _tells_rows_apart(tensor: torch.Tensor) -> bool:
    """Return whether a tensor has vectors that differ, as those of positions do."""
    plain = tensor.detach()
    if not plain.is_floating_point() or plain.dim() < 2 or plain.is_meta:
        return False
    rows = plain.reshape(-1, plain.shape[-1])[:_MOST]
    return len(rows) > 1 and bool((rows[1:] != rows[:1]).any())


def _table(tensor: torch.Tensor) -> dict[str, Any] | None:
    """Return what is wrong with a table of sines and cosines of positions.

    Its first row has the sines and cosines of 0. Some positions have equal rows, or nearly all
    columns are equal.
    """
    plain = tensor.detach()
    if not plain.is_floating_point() or plain.is_meta or not 0 < plain.numel() <= _LARGEST:
        return None
    rows = plain.reshape(-1, plain.shape[-1]) if plain.dim() > 1 else plain[None]
    count, width = rows.shape
    if count < _TABLE or width < _MOST or plain.shape[-2] != count:
        return None
    is_start = bool(((rows[0] == 0) | (rows[0] == 1)).all())
    if not is_start or float(rows.abs().max()) > 1 or float(rows.std(0).max()) < _WAVES:
        return None
    if bool((rows == rows.round()).all(1)[1:].any()):  # as those of a mask
        return None
    equal = (rows[1:] == rows[:-1]).all(1).nonzero()
    if len(equal):
        return {"shape": [*plain.shape], "equal": int(equal[0]), "columns": None}
    columns = len(torch.unique(rows.float(), dim=1)[0])
    return {"shape": [*plain.shape], "equal": None, "columns": columns} if columns < 3 else None


def _is_zero(tensor: torch.Tensor) -> bool:
    """Return whether a matrix that trains is zero."""
    is_matrix = tensor.dim() > 1 and tensor.requires_grad and not tensor.is_meta
    return is_matrix and not bool(tensor.detach().any())


def _is_new(norm: BatchNormBase) -> bool:
    """Return whether the running statistics are those of a module that never trained."""
    count = norm.num_batches_tracked
    return count is not None and not count.is_meta and int(count) == 0 and _is_standard(norm)


def _is_standard(norm: BatchNormBase) -> bool:
    """Return whether the running statistics are mean 0 and variance 1."""
    mean, var = norm.running_mean, norm.running_var
    if mean is None or var is None or mean.is_meta:
        return False
    return not bool(mean.any()) and bool((var == 1).all())


def _is_mask(tensor: torch.Tensor) -> bool:
    """Return whether a square matrix has zeros, and otherwise only values that mask."""
    if tensor.dim() < 2 or tensor.shape[-1] != tensor.shape[-2] or tensor.shape[-1] < 2:
        return False
    if tensor.is_meta or not tensor.is_floating_point() or tensor.numel() > _LARGEST:
        return False
    plain = tensor.detach()
    corners = plain[..., 0, -1], plain[..., -1, 0]  # of a causal mask, one is masked
    if not any(bool((corner <= _MASKED).all()) for corner in corners):
        return False
    return bool((plain == 0).any()) and bool(((plain == 0) | (plain <= _MASKED)).all())


def _equal_units(weight: torch.Tensor, dim: int = 0) -> int:
    """Return the number of units, if all have equal weights and equal gradients; else 0.

    `dim` is that of the units.
    """
    grad = weight.grad if weight.is_leaf else None  # FSDP1 puts views in the place of parameters
    if grad is None or weight.is_meta or grad.layout is not torch.strided:
        return 0
    plain, grad = weight.detach().transpose(0, dim), grad.transpose(0, dim)
    if len(plain) < 2:
        return 0
    if not torch.equal(plain[0], plain[1]) or not bool(grad[0].any()):
        return 0
    # A product of matrices does not round each of its columns in the same way.
    apart = float((grad - grad[:1]).abs().max())
    same = bool((plain == plain[:1]).all()) and apart <= _ROUNDED * float(grad.abs().max())
    return len(plain) if same else 0


def observe(requests: Requests, _spec: Spec) -> list[ProbeWatcher]:
    """Return the watcher of the modules."""
    return [ModuleValues(tuple(request.name for request in requests))]
