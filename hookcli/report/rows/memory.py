"""Make the report's memory from a recording."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.memory import Memory, TrainingMemory
from hookcli.report.recording import MemoryNote, Recording
from hookcli.text import counted


def memory(recording: Recording) -> Memory | None:
    """Return the memory of the run, if it was followed."""
    note = recording.memory
    if note is None:
        return None
    saved = recording.training
    unknown = saved is None and recording.failure is not None
    return Memory(
        saved_bytes=None if unknown else 0 if saved is None else saved.saved_bytes,
        forward_peak_bytes=note.forward_peak,
        backward_peak_bytes=note.backward_peak,
        training=note.training,
    )


def memory_notes(recording: Recording) -> tuple[str, ...]:
    """Return warnings if the bytes of tensors are not known."""
    note = recording.memory
    return () if note is None else tuple(_incomplete(note))


def _incomplete(note: MemoryNote) -> Iterator[str]:
    if note.unsized:
        yield (
            f"memory is incomplete: {counted(note.unsized, 'tensor')} without a storage of known "
            "size"
        )
    if note.workspaces:
        yield (
            "memory is incomplete: fake tensors do not show the workspace of "
            f"{', '.join(note.workspaces)}"
        )


def training_memory(
    recording: Recording,
    note: MemoryNote,
    optimizer: str,
    *,
    state_bytes: int,
    step_bytes: int,
    what_if: str | None = None,
    autocast: str | None = None,
) -> TrainingMemory:
    """Return the memory of a training step, from a run that went backward.

    `state_bytes` is what the optimizer stores, `step_bytes` what its step needs in addition.
    """
    parameters = sum(p.nbytes or 0 for p in recording.parameters)
    buffers = sum(b.nbytes for b in recording.buffers)
    step = note.gradient_bytes + step_bytes
    highest = max(note.forward_peak, note.backward_peak or 0, step)
    return TrainingMemory(
        what_if=what_if,
        optimizer=optimizer,
        batch=note.batch,
        dtype=_dtype(recording),
        autocast=autocast,
        parameter_bytes=parameters,
        buffer_bytes=buffers,
        input_bytes=note.input_bytes,
        gradient_bytes=note.gradient_bytes,
        state_bytes=state_bytes,
        forward_peak_bytes=note.forward_peak,
        backward_peak_bytes=note.backward_peak,
        step_peak_bytes=step,
        total_bytes=parameters + buffers + note.input_bytes + state_bytes + highest,
        note="; ".join(_incomplete(note)) or None,
    )


def _dtype(recording: Recording) -> str | None:
    """Return the dtype that most elements of the parameters have."""
    elements: dict[str, int] = {}
    for parameter in recording.parameters:
        elements[parameter.dtype] = elements.get(parameter.dtype, 0) + (parameter.numel or 0)
    return max(elements, key=lambda dtype: elements[dtype]) if elements else None
