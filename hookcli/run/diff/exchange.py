"""One of two runs that are compared: it shares its batch and weights by files in a folder.

The folder is private to the command. What is read from it is read as `weights_only`: the other
side's code has no way into this process.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn.parameter import is_lazy

from hookcli.errors import RequestError
from hookcli.models.batch import Batch, forward_signature, map_batch, misfit
from hookcli.models.failures import message_of
from hookcli.report.findings import Measurement
from hookcli.report.recording import Recording
from hookcli.run.batch.candidates import Candidate, floating_dtype
from hookcli.run.diff.capture import TensorCapture, compare_tensors
from hookcli.run.diff.sketches import SketchObserver
from hookcli.run.diff.weights import OWN_WEIGHTS, is_plain, load_matching_weights
from hookcli.run.observe.observer import Observer
from hookcli.spec.request import SideSpec, Spec
from hookcli.text import first_line

WEIGHTS, EXACT = "weights", "exact"
_PLAIN = "pass `--input` with tensors and plain values, in tuples, lists and dicts"
_PARTS = ("inputs", "outputs")


def side_of(spec: Spec) -> Side | None:
    """The side that a request is of, where it is one of two."""
    return None if spec.side is None else Side(spec, spec.side)


class Side:
    """What one side does beside its run."""

    def __init__(self, spec: Spec, settings: SideSpec) -> None:
        self._spec, self._side = spec, settings
        self._folder = Path(settings.folder)
        self._keep = TensorCapture(settings.keep) if settings.keep else None
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
        self._found.append(Measurement(WEIGHTS, "", None, load_matching_weights(root, state), None))

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
                f"{type(root).__name__}.forward does not accept the batch that was made for A: "
                f"{problem}",
                place=self._spec.model.source,
                hint="pass `--input` that both models accept, forward is "
                f"{forward_signature(root)}",
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
        return (SketchObserver(recording.measured),)

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
                f"cannot write {file.name}: {error.strerror}",
                place=str(file),
                hint="free disk space, or set TMPDIR to another folder",
            ) from None
        except Exception as error:  # noqa: BLE001  # torch raises its own, pickle whatever
            raise RequestError(
                f"cannot share this batch with the other model: {first_line(str(error))}",
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
        raise RequestError(
            f"cannot read A's {what}: {first_line(message_of(error))}",
            place=source,
            hint=OWN_WEIGHTS if what == "weights" else _PLAIN,
        ) from None


def _state(root: nn.Module) -> dict[str, Any]:
    """What a module's state dict holds: tensors, and those that quantized modules pack."""
    return {
        name: value
        for name, value in root.state_dict().items()
        if is_plain(value) and not (isinstance(value, torch.Tensor) and is_lazy(value))
    }
