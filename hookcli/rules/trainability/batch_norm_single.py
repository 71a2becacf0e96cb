"""`batch_norm_single`: no normalisation computes statistics of one sample, or of one value."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from hookcli.report.report import LayerRow, Report
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, no_match, passed, skipped
from hookcli.rules.select import calls_at, layer
from hookcli.text import counted

BATCH_NORM = {"BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"}
_LARGER = "pass a larger batch, use GroupNorm, or put the layer in eval mode"


def _values(row: LayerRow) -> tuple[int, int] | None:
    """Return the numbers of samples and of values per channel; None if the shape is unknown."""
    if not row.inputs or len(row.inputs[0].shape) < 2:
        return None
    shape = row.inputs[0].shape
    sizes = [size for size in shape if size is not None]
    if len(sizes) < len(shape):
        return None
    return sizes[0], sizes[0] * prod(sizes[2:])


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each batch norm that sees fewer samples or values than required."""
    rows = list(calls_at(report, options["at"]))
    if not rows:
        yield no_match("module", options["at"])
        return
    rows = [row for row in rows if row.type in BATCH_NORM and row.training]
    if not rows:
        yield skipped("no batch norm ran in train mode")
        return
    bad = set()
    for row in rows:
        counts = _values(row)
        if counts is None or row.name in bad:
            continue
        finding = _finding(row, *counts, options)
        if finding is not None:
            bad.add(row.name)
            yield finding
    if not bad:
        yield passed(f"{counted(len(rows), 'batch norm')} with enough samples")


def _finding(row: LayerRow, samples: int, values: int, options: Options) -> RuleFinding | None:
    least, fewest = options["samples"], options["values"]
    if samples >= least and values >= fewest:
        return None
    few = samples < least
    message = (
        f"{layer(row)} computes statistics of {counted(samples, 'sample')} in train mode, "
        f"{counted(values, 'value')} per channel"
    )
    kind = "samples" if few else "values"
    value, limit = (samples, least) if few else (values, fewest)
    return RuleFinding(
        "fail", row.name or "", kind, message, value, limit, row.place, advice=_LARGER
    )


RULE = Rule(
    name="batch_norm_single",
    severity="warning",
    looks_at="batch norm",
    says="in train mode, no batch norm computes its statistics from one sample",
    computes="Reads the input of each BatchNorm that ran in train mode: the number of samples "
    "(dimension 0), and that of values per channel, which is samples times positions. torch "
    "itself raises an error for one value per channel.",
    formula="N >= samples; N * H * W >= values, for an input [N, C, H, W]",
    source="torch.nn.functional.batch_norm: expected more than 1 value per channel when training",
    fails="training with a batch of 1; the last batch of a DataLoader without drop_last; a pooling "
    "to 1x1 before a batch norm, with two samples",
    mend="use a larger batch, drop_last=True, GroupNorm, or eval mode for the layer",
    example="{rule: batch_norm_single, samples: 2, values: 16}",
    options=(
        RuleOption("at", "glob", "glob of module names", "*"),
        RuleOption("samples", "count", "the smallest number of samples", 2),
        RuleOption("values", "count", "the smallest number of values per channel", 2),
    ),
    judge=judge,
)
