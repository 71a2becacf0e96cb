"""Frozen parts of a trained model: whose statistics change, which are zero, which nobody froze."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from hookcli.engine.probes.code.mistakes.arguments import frozen_embeddings
from hookcli.engine.probes.code.mistakes.searched_code import SearchedCode
from hookcli.models import module_tree, places
from hookcli.torch_private import BatchNormBase, ConvNd, disable_current_modes
from hookcli.training.norms import local
from hookcli.training.observers.observer import LookSchedule, Observer
from hookcli.training.record.records import Record
from hookcli.training.root_watch import RootWatch

_LEAST = 3  # looks
_MOST = 1 << 22  # elements of a weight that are read
_MOST_PARTS = 16


@dataclass(slots=True)
class _Part:
    """A frozen part of a root with batch norms in train mode, at each look."""

    record: Record
    module: nn.Module
    norms: list[str]
    statistics: float
    weights: list[float]
    looks: int = 1
    is_frozen: bool = True


class FrozenParts(Observer):
    """Looks at the parameters of trained roots that do not require grad."""

    kinds = ("frozen_statistics", "frozen_zero", "frozen_embedding", "trained_base",
             "stepped_frozen")  # fmt: skip

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._schedule = LookSchedule()
        self._parts: dict[tuple[int, str], _Part] = {}
        self._zeros: dict[tuple[int, str], tuple[Record, nn.Module, str]] = {}
        self._looked: set[int] = set()  # numbers of roots
        self._bases: set[int] = set()

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Look at the frozen parts of the roots."""
        if not self._schedule.is_due(self.seen.key_of(optimizer)):
            return
        self.facts.look(*self.kinds)
        for record in records:
            root = record.root
            if root.compiled or not record.own:
                continue
            if root.number not in self._bases:
                self._bases.add(root.number)
                self._look_at_bases(record)
            states = [p.requires_grad for p in root.root.parameters()]
            if all(states):
                self._forget(root)
                continue
            self._look_at_gradients(optimizer, record)
            with torch.no_grad(), disable_current_modes():
                self._look_at_norms(record)
                if root.number not in self._looked:
                    self._looked.add(root.number)
                    self._look_at_weights(record)

    def _forget(self, root: RootWatch) -> None:
        for (key, _), part in self._parts.items():
            part.is_frozen &= key != root.number

    def _look_at_bases(self, record: Record) -> None:
        """Find layers with low-rank updates whose own weights are trained too."""
        held = {id(p) for p in record.own if p.requires_grad}
        names = {name: p for name, p in record.root.root.named_parameters() if p.dim() > 1}
        both = []
        for name in names:
            owner, found, _ = name.partition(".lora_A")
            base = next((b for b in (f"{owner}.weight", *_bases(owner)) if b in names), None)
            if found and base is not None and id(names[base]) in held and id(names[name]) in held:
                both.append(base)
        if both:
            self.facts.add(
                "trained_base",
                both[0],
                places.of_class(type(record.root.root)),
                record=record,
                layers=len(both),
            )

    def _look_at_gradients(self, optimizer: Any, record: Record) -> None:
        """Find frozen parameters that a step still changes, as they have a gradient of zeros."""
        names = record.root.names()
        found, decay = [], 0.0
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.requires_grad or p.grad is None or id(p) not in names:
                    continue
                own = float(group.get("weight_decay") or 0)
                if own or _has_moments(optimizer.state.get(p, {})):
                    found.append(names[id(p)])
                    decay = max(decay, own)
        if found:
            self.facts.add(
                "stepped_frozen", found[0], record.root.model.place(found[0].rpartition(".")[0]),
                record=record, parameters=len(found), weight_decay=decay,
                optimizer=type(optimizer).__name__,
            )  # fmt: skip

    def _look_at_norms(self, record: Record) -> None:
        key = record.root.number
        found = dict(_frozen_norms(record.root.root))
        for (owner, name), part in self._parts.items():
            if owner == key:
                part.is_frozen &= name in found
                part.looks += 1
        for name, (module, norms) in found.items():
            if (key, name) not in self._parts and len(self._parts) < _MOST_PARTS:
                known = _Part(record, module, norms, _statistics(module), _sums(module))
                self._parts[key, name] = known

    def _look_at_weights(self, record: Record) -> None:
        """Find weights that are frozen at zero, and embeddings that from_pretrained has frozen."""
        root = record.root.root
        for module, names in module_tree.modules(root):
            weight = module_tree.own_parameter(module, "weight")
            if weight is None or weight.requires_grad or weight.is_meta or weight.dim() < 2:
                continue
            if weight.layout is not torch.strided or not 0 < weight.numel() <= _MOST:
                continue
            if isinstance(module, nn.Linear | ConvNd) and not bool(local(weight).any()):
                self._zeros[record.root.number, names[0]] = record, module, names[0]
            if isinstance(module, nn.Embedding | nn.EmbeddingBag):
                place = _pretrained_at(root)
                if place is not None:
                    self.facts.add("frozen_embedding", names[0], place, record=record)

    def forget(self, root: RootWatch, records: Sequence[Record]) -> None:
        """Add what is known of the parts of a root, and forget them."""
        self._add_found(root.number)
        for table in (self._parts, self._zeros):
            for key in [key for key in table if key[0] == root.number]:
                del table[key]

    def finish(self) -> None:
        """Add what is known of the parts of all roots."""
        self._add_found(None)

    def _add_found(self, number: int | None) -> None:
        """Add the parts that changed though they were frozen, and the weights that stayed zero.

        Those of the root with this number, or of all roots.
        """
        with torch.no_grad(), disable_current_modes():
            for (owner, name), part in self._parts.items():
                if number not in (None, owner):
                    continue
                if not part.is_frozen or part.looks < _LEAST:
                    continue
                if (
                    _sums(part.module) == part.weights
                    and _statistics(part.module) != part.statistics
                ):
                    self.facts.add(
                        "frozen_statistics",
                        name,
                        places.of_class(type(part.module))
                        or places.of_class(type(part.record.root.root)),
                        record=part.record,
                        norms=part.norms,
                    )
            for (owner, _), (record, module, name) in self._zeros.items():
                if number not in (None, owner):
                    continue
                weight = module_tree.own_parameter(module, "weight")
                if (
                    weight is not None
                    and not weight.requires_grad
                    and not bool(local(weight).any())
                ):
                    self.facts.add(
                        "frozen_zero",
                        f"{name}.weight",
                        places.of_class(type(record.root.root)),
                        record=record,
                    )


def _has_moments(state: dict[str, Any]) -> bool:
    """Return whether an optimizer keeps something of earlier gradients, by which it moves on."""
    kept = [state.get(name) for name in ("momentum_buffer", "exp_avg")]
    return any(isinstance(one, torch.Tensor) and bool(one.any()) for one in kept)


def _bases(owner: str) -> tuple[str, ...]:
    return tuple(f"{owner}.{part}.weight" for part in ("base_layer", "base", "linear", "original"))


def _frozen_norms(root: nn.Module) -> Iterator[tuple[str, tuple[nn.Module, list[str]]]]:
    """Yield the outermost frozen parts with batch norms in train mode, and their names.

    A part has weights of its own besides those of norms.
    """
    inside: list[str] = []
    for name, module in root.named_modules():
        if not name or any(name.startswith(f"{part}.") for part in inside):
            continue
        own = list(module.parameters())
        if not own or any(p.requires_grad for p in own) or all(p.dim() < 2 for p in own):
            continue
        norms = [
            f"{name}.{inner}" if inner else name
            for inner, part in module.named_modules()
            if isinstance(part, BatchNormBase)
            and part.training
            and part.running_mean is not None
            and part.momentum != 0
        ]
        if norms:
            inside.append(name)
            yield name, (module, norms)


def _statistics(module: nn.Module) -> float:
    return sum(
        float(part.running_mean.double().sum() + part.running_var.double().sum())
        for part in module.modules()
        if isinstance(part, BatchNormBase)
        and part.running_mean is not None
        and part.running_var is not None
    )


def _sums(module: nn.Module) -> list[float]:
    own = [p for p in module.parameters() if p.numel() and not p.is_meta]
    return [float(local(p.detach()).reshape(-1)[:4096].double().sum()) for p in own[:8]]


def _pretrained_at(root: nn.Module) -> str | None:
    """Return where the user's code calls Embedding.from_pretrained without `freeze`."""
    files = set()
    for module in root.modules():
        try:
            files.add(inspect.getfile(type(module)))
        except (TypeError, OSError):
            continue
    files |= set(linecache.cache)
    for file in sorted(files):
        if not places.is_user(file) or places.is_installed(file):
            continue
        try:
            tree = ast.parse("".join(linecache.getlines(file)))
        except (SyntaxError, ValueError, RecursionError):
            continue
        found = next(frozen_embeddings(SearchedCode(tree)), None)
        if found is not None:
            return f"{places.show(file)}:{found.line}"
    return None
