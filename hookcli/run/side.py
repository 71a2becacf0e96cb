"""One of two runs that are compared: it shares its batch and weights by files in a folder.

The folder is private to the command. What is read from it is read as `weights_only`: the other
side's code has no way into this process.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn.parameter import is_lazy

from hookcli.config.spec import SideSpec, Spec
from hookcli.errors import RequestError
from hookcli.inputs.batch import Batch, forward_signature, map_batch, misfit
from hookcli.models import places, walk
from hookcli.models.failures import first_line, message_of
from hookcli.models.trees import dtype_name, shape_of
from hookcli.report.align import align
from hookcli.report.findings import Measurement
from hookcli.report.recording import Recording
from hookcli.run.batches import Candidate, floating_dtype
from hookcli.run.digests import same_bits
from hookcli.run.kept import Keep, compare_tensors
from hookcli.run.observer import Observer
from hookcli.run.sketches import Sketches

WEIGHTS, EXACT = "weights", "exact"
_PLAIN = "give --input with tensors and plain values, in tuples, lists and dicts"
_PARTS = ("inputs", "outputs")


def side_of(spec: Spec) -> Side | None:
    """The side that a request is of, where it is one of two."""
    return None if spec.side is None else Side(spec, spec.side)


class Side:
    """What one side does beside its run."""

    def __init__(self, spec: Spec, settings: SideSpec) -> None:
        self._spec, self._side = spec, settings
        self._folder = Path(settings.folder)
        self._keep = Keep(settings.keep) if settings.keep else None
        self._found: list[Measurement] = []
        self._floating = torch.float32

    def exchange_weights(self, root: nn.Module) -> None:
        """A writes its weights, B takes what fits by name and shape."""
        self._floating = floating_dtype(root, self._spec)
        if not self._side.weights:
            return
        file = self._folder / "weights.pt"
        if self._side.name == "a":
            if not file.exists():
                self._write(_state(root), file)
            return
        state = _read(file, "weights", self._spec.model.source)
        self._found.append(Measurement(WEIGHTS, "", None, take_weights(root, state), None))

    def their_batch(self, root: nn.Module) -> Candidate | None:
        """A's batch, where this is B or another run of A: bit for bit, but for B's own dtype.

        Raises
        ------
        RequestError : B's forward does not take it.
        """
        file = self._folder / "batch.pt"
        if not self._rerun and self._side.name == "a":
            return None
        held = _read(file, "batch", self._spec.model.source)
        batch = Batch(tuple(held["args"]), held["kwargs"])
        theirs: torch.dtype = held["floating"]
        if self._floating != theirs:
            batch = map_batch(batch, lambda t: t.to(self._floating) if t.dtype == theirs else t)
        problem = misfit(root, batch)
        if problem is not None:
            raise RequestError(
                f"{type(root).__name__}.forward does not take the batch that was made for A: "
                f"{problem}",
                place=self._spec.model.source,
                hint=f"it takes {forward_signature(root)}: give --input as both take it",
            )
        return Candidate(held["origin"], "A's batch", batch)

    def observers(self, candidate: Candidate, recording: Recording) -> Sequence[Observer]:
        """What looks on at a run with this batch, which is noted first: a run may write to it."""
        if self._keep is not None:
            return (self._keep,)
        if self._side.name == "a":
            self._write(
                {
                    "origin": candidate.origin,
                    "floating": self._floating,
                    "args": candidate.batch.args,
                    "kwargs": candidate.batch.kwargs,
                },
                self._folder / "batch.pt",
            )
        return (Sketches(recording.measured),)

    def conclude(self, recording: Recording) -> None:
        """What was found beside the run."""
        recording.measured += self._found
        if self._keep is None:
            return
        for number, order in enumerate(self._side.keep):
            kept = self._keep.calls[order]
            for part in _PARTS:
                self._save(kept[part], self._folder / f"{number}.{self._side.name}.{part}")
            exchanged = self._folder / f"{number}.pt"
            if self._side.name == "a":
                self._write(kept, exchanged)
                continue
            theirs = _read(exchanged, "tensors", self._spec.model.source)
            for part in _PARTS:
                value = compare_tensors(theirs[part], kept[part])
                recording.measured.append(Measurement(EXACT, part, number, value, None))

    def _save(self, tensors: dict[str, torch.Tensor], file: Path) -> None:
        """For the user, as safetensors; where that has no such dtype, as torch.save writes it."""
        named = {path or "value": tensor.clone() for path, tensor in tensors.items()}
        try:
            save_file(named, f"{file}.safetensors")
        except (KeyError, ValueError, RuntimeError):
            self._write(named, file.with_name(f"{file.name}.pt"))

    @property
    def _rerun(self) -> bool:
        return self._keep is not None

    def _write(self, value: Any, file: Path) -> None:
        """Write what the other side reads.

        Raises
        ------
        RequestError : the disk is full, or the value is more than tensors and plain containers.
        """
        try:
            torch.save(value, file)
            if file.name == "batch.pt":
                torch.load(file, weights_only=True)
        except OSError as error:
            raise RequestError(
                f"{file.name} cannot be handed to the other side: {error.strerror}",
                place=str(file),
                hint="is the disk full? TMPDIR names another folder",
            ) from None
        except Exception as error:  # noqa: BLE001  # torch raises its own, pickle whatever
            raise RequestError(
                f"this batch cannot be handed to the other side: {str(error).splitlines()[0]}",
                place=self._spec.model.source,
                hint=_PLAIN,
            ) from None


def _read(file: Path, what: str, source: str) -> Any:
    """What the other side wrote.

    Raises
    ------
    RequestError : it holds tensors of a class that cannot be read without running its code.
    """
    try:
        return torch.load(str(file), weights_only=True, mmap=what == "weights")
    except Exception as error:  # noqa: BLE001  # the classes of tensors raise anything
        hint = "take --own-weights: each side keeps its own" if what == "weights" else _PLAIN
        raise RequestError(
            f"A's {what} cannot be handed over: {first_line(message_of(error))}",
            place=source,
            hint=hint,
        ) from None


def _state(root: nn.Module) -> dict[str, Any]:
    """What a module's state dict holds: tensors, and those that quantized modules pack."""
    return {
        name: value
        for name, value in root.state_dict().items()
        if _is_plain(value) and not (isinstance(value, torch.Tensor) and is_lazy(value))
    }


def _is_plain(value: Any) -> bool:
    """Whether a value can be handed over and taken: a tensor of torch's own, or a tuple of them."""
    if isinstance(value, tuple):
        return all(one is None or _is_plain(one) for one in value)
    return isinstance(value, torch.Tensor)


def take_weights(root: nn.Module, theirs: dict[str, Any]) -> dict[str, Any]:
    """Load what fits by name (below one prefix, at most) and shape; say what did not fit.

    `differed` names tensors that held other values before, in B's own dtype.

    Raises
    ------
    RequestError : a module of B's does not load what fits.
    """
    whole = root.state_dict()
    own = {name: value for name, value in whole.items() if _is_plain(value)}
    alignment = align(theirs, own)
    pairs = alignment.pairs(theirs, own)
    fitting: OrderedDict[str, Any] = OrderedDict()
    misfits, differed, dtypes = [], [], set()
    for name, here in pairs.items():
        given, held = theirs[name], own[here]
        taken = given if is_lazy(held) else _cast(given, held)
        if taken is None:
            ours, others = (_shape(value) for value in (given, held))
            misfits.append({"name": here, "a_shape": ours, "b_shape": others})
            continue
        fitting[here] = taken
        dtypes |= {dtype_name(one.dtype) for one in _tensors(taken)}
        if not is_lazy(held) and not _are_same(taken, held):
            differed.append(here)
    loaded = len(fitting)
    fitting._metadata = getattr(whole, "_metadata", None)  # type: ignore[attr-defined]
    for name in _quantized(root, whole):
        fitting.setdefault(name, whole[name])
    missing = _load(root, fitting)
    return {
        "loaded": loaded - len(missing.unexpected_keys),
        "differed": differed,
        "misfits": misfits,
        "only_a": [name for name in theirs if name not in pairs],
        "only_b": [name for name in own if name not in set(pairs.values())],
        "dtypes": sorted(dtypes),
    }


def _quantized(root: nn.Module, state: Iterable[str]) -> list[str]:
    """The entries of quantized modules, which load all of theirs at once or raise KeyError."""
    homes = tuple(
        f"{name}." if name else ""
        for name, module in walk.named(root)
        if type(module).__module__.startswith("torch.ao.nn.")
    )
    return [name for name in state if name.startswith(homes)]


def _load(root: nn.Module, state: dict[str, Any]) -> Any:
    try:
        return root.load_state_dict(state, strict=False)
    except Exception as error:  # the model's own code may raise anything
        if places.of_error(error) is not None:
            raise
        raise RequestError(
            f"A's weights cannot be loaded into B: {first_line(message_of(error))}",
            place=type(root).__name__,
            hint="take --own-weights: each side keeps its own",
        ) from None


def _tensors(value: Any) -> list[torch.Tensor]:
    """The tensors of an entry: itself, or those that a quantized module packs as one."""
    if isinstance(value, tuple):
        return [tensor for one in value for tensor in _tensors(one)]
    return [] if value is None else [value]


def _shape(value: Any) -> list[int | None]:
    """The shape of an entry; of packed ones the first's, the weight's."""
    found = _tensors(value)
    return list(shape_of(found[0])) if found else []


def _cast(given: Any, held: Any) -> Any:
    """A's entry in B's dtype; None where it does not fit into B's."""
    if isinstance(given, tuple) and isinstance(held, tuple):
        if len(given) != len(held):
            return None
        pairs = list(zip(given, held, strict=True))
        if any((one is None) != (other is None) for one, other in pairs):
            return None
        cast = [one if one is None else _cast(one, other) for one, other in pairs]
        misfit = any(c is None and one is not None for c, one in zip(cast, given, strict=True))
        return None if misfit else tuple(cast)
    if isinstance(given, tuple) or isinstance(held, tuple) or shape_of(given) != shape_of(held):
        return None
    try:
        return given if given.dtype == held.dtype else given.to(held.dtype)
    except (RuntimeError, TypeError):  # a quantized tensor has no other dtype
        return None


def _are_same(one: Any, other: Any) -> bool:
    """Whether two entries hold equal values; bits, where torch cannot compare values."""
    pairs = zip(_tensors(one), _tensors(other), strict=True)
    return all(_equal(ours, theirs.detach().to(ours.device)) for ours, theirs in pairs)


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    try:
        return torch.equal(one, other)
    except (RuntimeError, TypeError):
        return same_bits(one, other)
