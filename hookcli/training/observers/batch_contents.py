"""What is in the batches of a training: samples that are all equal, one slice, a wrong sampler."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

import torch
from torch.utils.data import IterableDataset, WeightedRandomSampler

from hookcli.engine.probes.code.user_source import is_own
from hookcli.models import places
from hookcli.models.batch import forward_signature
from hookcli.models.nested import argument_leaves
from hookcli.report.findings import Measurement
from hookcli.report.rows.events import number
from hookcli.torch_private import disable_current_modes
from hookcli.training.non_finite.forward_call import ForwardCall
from hookcli.training.observers.observer import LookSchedule, Observer
from hookcli.training.observers.token_match import padding_of
from hookcli.training.record.records import Record
from hookcli.training.script.watched_function import TorchCall

RANGE = "input_range"  # a measurement
_LEAST, _MASKS = 5, 3  # looks
_SAMPLES = 8  # in a batch
_PART = 8  # times as many elements are in the tensor that a batch is a slice of
_MOST = 1 << 20  # elements that are read
# Names by which a data set divides its samples among workers, or draws others in each.
_DIVIDES = {"get_worker_info", "worker_id", "worker_info", "num_workers", "islice"}
_DRAWS = {"rand", "randn", "randint", "random", "choice", "normal", "uniform", "randperm", "sample"}


@dataclass(slots=True)
class _Inputs:
    """The first tensor that a root gets, at the looks."""

    record: Record
    looks: int = 0
    equal: int = 0  # looks at which all samples of the batch were equal
    slices: int = 0  # looks at which it was the same slice of a larger tensor, made anew
    first: tuple[int, int, tuple[int, ...]] | None = None
    last: int = 0  # id of the tensor
    whole: int = 0  # elements of the tensor that it is a slice of
    masks: dict[str, _Mask] = field(default_factory=dict)  # of padded tokens, by argument


@dataclass(slots=True)
class _Mask:
    """A mask that is given beside padded tokens, at the looks."""

    looks: int = 0
    ones: int = 0  # looks at which it was one everywhere
    token: int = 0  # of the padding
    share: float = 0.0


class BatchContents(Observer):
    """Looks at the first input of each trained root, at some steps."""

    kinds = ("equal_samples", "same_slice", "sampler_weights", "whole_mask", "dropped_samples",
             "repeated_stream")  # fmt: skip
    after = {"iterate": "iterated"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._schedule = LookSchedule()
        self._inputs: dict[int, _Inputs] = {}
        self._kept: list[torch.Tensor] = []  # so that an id is not used again

    def iterated(self, call: TorchCall) -> None:
        """Look at the sampler of a loader, at its workers, and at what an evaluation leaves out."""
        loader = call.argument(0, "self")
        if isinstance(loader.dataset, IterableDataset):
            self._look_at_workers(loader, call)
        elif loader.drop_last and not torch.is_grad_enabled():
            self._look_at_last(loader, call)
        sampler = loader.sampler
        if type(sampler) is not WeightedRandomSampler or not hasattr(loader.dataset, "__len__"):
            return
        self.facts.look("sampler_weights")
        weights, samples = len(sampler.weights), len(loader.dataset)
        if weights < samples:
            self.facts.add(
                "sampler_weights", "", places.of_frame(call.frame), weights=weights, samples=samples
            )

    def _look_at_workers(self, loader: Any, call: TorchCall) -> None:
        """Note a data set of the script that each worker iterates over, as it divides nothing."""
        kind = type(loader.dataset)
        by_script = is_own(inspect.getattr_static(kind, "__iter__"))
        if loader.num_workers < 2 or loader.worker_init_fn is not None or not by_script:
            return
        self.facts.look("repeated_stream")
        if not _names_of(kind) & (_DIVIDES | _DRAWS):
            at = places.of_frame(call.frame)
            self.facts.add("repeated_stream", kind.__name__, at, workers=loader.num_workers)

    def _look_at_last(self, loader: Any, call: TorchCall) -> None:
        """Note that an evaluation leaves out the last samples, which fill no batch."""
        self.facts.look("dropped_samples")
        sampler, size = loader.sampler, loader.batch_size
        if not hasattr(sampler, "__len__") or not isinstance(size, int):
            return
        samples = len(sampler)
        if samples % size:
            self.facts.add(
                "dropped_samples", "", places.of_frame(call.frame), dropped=samples % size,
                samples=samples,
            )  # fmt: skip

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Look at the batch of a step."""
        if not self._schedule.is_due(self.seen.key_of(optimizer)):
            return
        for record in records:
            root = record.root
            if not root.recent:
                continue
            tensors = [t for _, t, _ in argument_leaves(root.recent[0].args, root.recent[0].kwargs)]
            if tensors and tensors[0].layout is torch.strided and not tensors[0].is_meta:
                with torch.no_grad(), disable_current_modes():
                    self._look(record, tensors[0], len(tensors))
                    self._look_at_masks(record, root.recent[0])

    def _look(self, record: Record, given: torch.Tensor, many: int) -> None:
        known = self._inputs.setdefault(id(record), _Inputs(record))
        if known.looks == 0 and given.is_floating_point() and 0 < given.numel() <= _MOST:
            values = given.detach().float()
            if bool(values.isfinite().all()):
                found = {
                    "low": number(float(values.min())),
                    "high": number(float(values.max())),
                    "std": number(float(values.std(correction=0))),
                }
                record.root.measured.append(Measurement(RANGE, "", None, found, None))
        known.looks += 1
        self.facts.look("equal_samples", "same_slice")
        if many == 1 and given.dim() > 1 and len(given) >= _SAMPLES and given.numel() <= _MOST:
            known.equal += bool((given == given[:1]).all())
        base = given._base
        if base is None or base.numel() < _PART * given.numel() or given.requires_grad:
            return
        here = base.data_ptr(), int(given.storage_offset()), tuple(given.shape)
        is_new = id(given) != known.last
        known.first = known.first or here
        known.slices += here == known.first and is_new
        known.last, known.whole = id(given), len(base) if base.dim() == given.dim() else 0
        if len(self._kept) < 64:
            self._kept.append(given)

    def _look_at_masks(self, record: Record, run: ForwardCall) -> None:
        """Look at each argument that is named as a mask, of tokens that end with padding."""
        named = _by_argument(record.root.root, run)
        tokens = [t for t in named.values() if _are_tokens(t)]
        masks = {name: t for name, t in named.items() if "mask" in name.lower()}
        for name, mask in masks.items() if tokens else ():
            same = [t for t in tokens if t.shape == mask.shape and t is not mask]
            padding = padding_of(same[0]) if len(same) == 1 else None
            if padding is None:
                continue
            self.facts.look("whole_mask")
            known = self._inputs[id(record)].masks.setdefault(name, _Mask())
            known.looks += 1
            known.ones += bool((mask == 1).all())
            known.token, known.share = padding

    def finish(self) -> None:
        """Add the roots whose batches were so at each look."""
        for known in self._inputs.values():
            for name, mask in known.masks.items():
                if mask.ones == mask.looks >= _MASKS:
                    self.facts.add(
                        "whole_mask", name, None, record=known.record, token=mask.token,
                        share=mask.share,
                    )  # fmt: skip
            if known.looks < _LEAST:
                continue
            if known.equal == known.looks:
                self.facts.add("equal_samples", "", None, record=known.record, looks=known.looks)
            if known.slices == known.looks and known.first is not None and known.whole:
                self.facts.add(
                    "same_slice",
                    "",
                    None,
                    record=known.record,
                    samples=known.first[2][0],
                    whole=known.whole,
                )
        self._kept.clear()


def _names_of(kind: type) -> set[str]:
    """Return the names that the methods of a class use, also those of functions inside of them."""
    found: set[str] = set()
    codes = [
        function.__code__
        for base in kind.__mro__
        if base is not IterableDataset
        for function in vars(base).values()
        if isinstance(function, FunctionType)
    ]
    while codes:
        code = codes.pop()
        found.update(code.co_names)
        codes += [one for one in code.co_consts if isinstance(one, CodeType)]
    return found


def _by_argument(root: Any, run: ForwardCall) -> dict[str, torch.Tensor]:
    """Return the tensors that a root gets, by the names of the arguments of its forward."""
    signature = forward_signature(root)
    names = [] if signature is None else list(signature.parameters)
    given = {**dict(zip(names, run.args, strict=False)), **run.kwargs}
    return {name: value for name, value in given.items() if isinstance(value, torch.Tensor)}


def _are_tokens(tensor: torch.Tensor) -> bool:
    """Return whether a tensor has more than two different integers, in rows."""
    if tensor.dim() != 2 or tensor.is_floating_point() or tensor.dtype is torch.bool:
        return False
    return 0 < tensor.numel() <= _MOST and len(torch.unique(tensor)) > 2
