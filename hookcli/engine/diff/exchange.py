"""One side of a diff: shares its batch and weights with the other through files in a folder.

The folder is private to the command. Files are read with `weights_only`, so that no code of the
other side can run in this process.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from hookcli.engine.batch.candidates import Candidate, floating_dtype, takes_any_batch
from hookcli.engine.diff.adapted_batch import adapted_batch
from hookcli.engine.diff.capture import TensorCapture, compare_tensors
from hookcli.engine.diff.mapped_weights import load_mapped_weights
from hookcli.engine.diff.sketches import SketchObserver
from hookcli.engine.diff.weights import OWN_WEIGHTS, is_plain, load_matching_weights
from hookcli.engine.watcher import AfterRun, Watcher
from hookcli.errors import RequestError
from hookcli.models.batch import Batch, LossTarget, forward_signature, map_batch, misfit
from hookcli.models.failures import message_of
from hookcli.models.files.tensor_writer import save_tensors, save_whole
from hookcli.report.findings import Measurement
from hookcli.report.recording import Recording
from hookcli.sentences import cannot_write
from hookcli.spec.losses import is_function
from hookcli.spec.request import SideSpec, Spec
from hookcli.text import first_line

WEIGHTS, EXACT = "weights", "exact"
_PLAIN = "pass `--input` with tensors and plain values, in tuples, lists and dicts"
_PARTS = ("inputs", "outputs")


class Side:
    """Exchanges weights, batch and tensors with the other side of a diff."""

    def __init__(self, spec: Spec, settings: SideSpec) -> None:
        self._spec, self._side = spec, settings
        self._folder = Path(settings.folder)
        self._capture = TensorCapture(settings.keep) if settings.keep else None
        self._measurements: list[Measurement] = []
        self._floating = torch.float32
        self.notes: list[str] = []

    def exchange_weights(self, root: nn.Module) -> None:
        """Write A's weights, or load into B those that fit by name and shape."""
        self._floating = floating_dtype(root, self._spec)
        if not self._side.weights:
            return
        file = self._folder / "weights.pt"
        if self._side.name == "a":
            if not file.exists():
                self._write(_state(root), file)
            return
        state = _read(file, "weights", self._spec.model.source)
        made = self._side.made
        result = (
            load_matching_weights(root, state)
            if made is None
            else load_mapped_weights(root, state, made)
        )
        self._measurements.append(Measurement(WEIGHTS, "", None, result, None))

    def their_batch(self, root: nn.Module) -> Candidate | None:
        """Return A's batch for B or another run of A: the same bits, cast to B's dtype.

        Raises
        ------
        RequestError : B's forward does not accept it.
        """
        file = self._folder / "batch.pt"
        if self._side.name == "a" and not self._rerun and not self._side.ordered:
            return None
        stored = _read(file, "batch", self._spec.model.source)
        target = stored["target"]
        batch = Batch(
            tuple(stored["args"]),
            stored["kwargs"],
            None if target is None else LossTarget(*target),
            stored["whole"],
        )
        dtype: torch.dtype = stored["floating"]
        if self._floating != dtype:
            batch = map_batch(batch, lambda t: t.to(self._floating) if t.dtype == dtype else t)
        problem = None if takes_any_batch(self._spec) else misfit(root, batch)
        if problem is not None:
            other = adapted_batch(root, batch)
            if other is not None and misfit(root, other[0]) is None:
                batch, dropped = other
                self.notes += [
                    f"B's forward does not accept {name} of A's batch" for name in dropped
                ]
                problem = None
        if problem is not None:
            raise RequestError(
                f"{type(root).__name__}.forward does not accept the batch that was made for A: "
                f"{problem}",
                place=self._spec.model.source,
                hint="pass `--input` that both models accept, forward is "
                f"{forward_signature(root)}",
            )
        return Candidate(stored["origin"], "A's batch", batch, batch_is_shared=True)

    def watchers(self, candidate: Candidate, recording: Recording) -> Sequence[Watcher]:
        """Return the watchers of a run with this batch.

        A's batch is written first, since the run may write to it.
        """
        if self._capture is not None:
            return (self._capture, _Results(self))
        if self._side.name == "a" and not self._side.ordered:
            batch = candidate.batch
            target = batch.target
            self._write(
                {
                    "origin": candidate.origin,
                    "floating": self._floating,
                    "args": batch.args,
                    "kwargs": batch.kwargs,
                    "target": None if target is None else (target.value, target.origin),
                    "whole": batch.whole if is_function(self._spec.run.loss) else None,
                },
                self._folder / "batch.pt",
            )
        return (SketchObserver(recording.measured, ordered=self._side.ordered), _Results(self))

    def conclude(self, recording: Recording) -> None:
        """Add the measurements to the recording; save and compare the captured tensors."""
        recording.measured += self._measurements
        if self._capture is None:
            return
        for number, order in enumerate(self._side.keep):
            captured = self._capture.calls[order]
            for part in _PARTS:
                self._save(captured[part], self._folder / f"{number}.{self._side.name}.{part}")
            file = self._folder / f"{number}.pt"
            if self._side.name == "a":
                self._write(captured, file)
                continue
            theirs = _read(file, "tensors", self._spec.model.source)
            for part in _PARTS:
                value = compare_tensors(theirs[part], captured[part])
                recording.measured.append(Measurement(EXACT, part, number, value, None))

    def _save(self, tensors: dict[str, torch.Tensor], file: Path) -> None:
        """Save tensors for the user as safetensors, or by torch.save if the dtype needs it.

        So does an environment without safetensors or numpy, which torch does not need.
        """
        named = {path or "value": tensor.clone() for path, tensor in tensors.items()}
        try:
            save_tensors(named, file.with_name(f"{file.name}.safetensors"))
        except OSError as error:
            raise _disk_full(file, error) from None
        except (KeyError, ValueError, RuntimeError, ModuleNotFoundError):
            self._write(named, file.with_name(f"{file.name}.pt"))

    @property
    def _rerun(self) -> bool:
        return self._capture is not None

    def _write(self, value: Any, file: Path) -> None:
        """Write a value for the other side.

        Raises
        ------
        RequestError : the disk is full, or the value has other parts than tensors, plain values and
            containers.
        """
        try:
            save_whole(value, file)
            if file.name == "batch.pt":
                torch.load(file, weights_only=True)
        except OSError as error:
            raise _disk_full(file, error) from None
        except Exception as error:  # noqa: BLE001  # torch and pickle raise many types
            raise RequestError(
                f"cannot share this batch with the other model: {first_line(str(error))}",
                place=self._spec.model.source,
                hint=_PLAIN,
            ) from None


class _Results(Watcher):
    """Adds what a side measured to the recording of its run."""

    def __init__(self, side: Side) -> None:
        self._side = side

    def conclude(self, after: AfterRun) -> None:
        """Save and compare the captured tensors."""
        self._side.conclude(after.recording)


def _disk_full(file: Path, error: OSError) -> RequestError:
    """Return the error for a file in the folder that both sides share."""
    return RequestError(
        cannot_write(file.name, error.strerror),
        place=str(file),
        hint="free disk space, or set TMPDIR to another folder",
    )


def _read(file: Path, what: str, source: str) -> Any:
    """Read a value that the other side wrote.

    Raises
    ------
    RequestError : it contains tensors of a class that cannot be read without running its code.
    """
    try:
        return torch.load(str(file), weights_only=True, mmap=what == "weights")
    except Exception as error:  # noqa: BLE001  # tensor subclasses may raise anything
        raise RequestError(
            f"cannot read A's {what}: {first_line(message_of(error))}",
            place=source,
            hint=OWN_WEIGHTS if what == "weights" else _PLAIN,
        ) from None


def _state(root: nn.Module) -> dict[str, Any]:
    """Return the tensors of a module's state dict, also those that quantized modules pack."""
    return {
        name: value
        for name, value in root.state_dict().items()
        if is_plain(value) and not (isinstance(value, torch.Tensor) and is_lazy(value))
    }
