"""What one rank noted → rows of its report."""

from __future__ import annotations

from hookcli.config.hooks import CallRef, is_average
from hookcli.distributed.buckets import BucketNote
from hookcli.hooks.hook import Hook
from hookcli.report.distributed import BucketRow
from hookcli.report.event_rows import number


def bucket_row(note: BucketNote) -> BucketRow:
    """A bucket, with this rank's norm alone."""
    return BucketRow(
        step=note.step,
        index=note.index,
        order=note.order,
        last=note.last,
        bytes=note.size,
        dtype=note.dtype,
        parameters=note.parameters,
        norms_before=(number(note.norm_before),),
        norm_after=None if note.norm_after is None else number(note.norm_after),
        norm_exact=None if note.norm_exact is None else number(note.norm_exact),
        error=None if note.error is None else number(note.error),
        wire_bytes=None if note.norm_after is None else note.sent,
        plain_bytes=note.plain,
    )


def hook_name(hook: Hook | None) -> str:
    """What averages: torch's name, or where the user's function is."""
    action = None if hook is None else next(filter(is_average, hook.spec.actions), None)
    if action is None:
        return "allreduce"
    if isinstance(action.argument, CallRef):
        return action.argument.function
    return str(action.argument["name"])
