"""`batch_dimension`: layers get a sequence in the dimension that they read as time."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import LayerRow, Report
from hookcli.rules.rule import Options, Rule, RuleFinding, not_a_training, passed, skipped

_SAMPLES = "batch_samples"  # the measurement
_BATCHED = 3  # dimensions of an input with a batch


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for the first layer that reads the batch as time."""
    if report.training is None:
        yield not_a_training()
        return
    known = [m.value for m in report.measurements if m.probe == _SAMPLES]
    if not known:
        yield skipped("no recurrent and no attention layer has a target for each sample")
        return
    samples, layers = known[0]["samples"], known[0]["layers"]
    for row in report.layers:
        shape = _shape(row)
        if (
            row.name not in layers
            or shape is None
            or not _is_swapped(shape, samples, layers[row.name])
        ):
            continue
        first = layers[row.name]
        read = "batch" if first else "time"
        message = (
            f"'{row.name}' ({row.type}) reads dimension 0 of its input {shape} as {read}, but "
            + (
                f"the batches of the DataLoader have {samples:,} samples, in dimension "
                if known[0].get("of") == "loader"
                else f"the loss has {samples:,} targets: one for each index of dimension "
            )
            + f"{int(first)}"
        )
        yield RuleFinding(
            "fail", row.name or "", "batch_first", message, shape[0], samples,
            row.place or report.model.place,
            advice=f"pass batch_first={not first} to {row.type}, or transpose its input",
        )  # fmt: skip
        return
    yield passed("layers along a sequence get the batch where they expect it")


def _shape(row: LayerRow) -> list[int] | None:
    """Return the shape of the first input of a call."""
    for leaf in row.inputs:
        if leaf.shape is not None:
            return [size if isinstance(size, int) else 0 for size in leaf.shape]
    return None


def _is_swapped(shape: list[int], samples: int, batch_first: bool) -> bool:
    if len(shape) != _BATCHED:
        return False
    batch, time = (shape[0], shape[1]) if batch_first else (shape[1], shape[0])
    return time == samples and batch != samples and batch > 1


RULE = Rule(
    name="batch_dimension",
    early=True,
    severity="warning",
    of_training=True,
    looks_at="sequences",
    says="recurrent and attention layers get a sequence in the dimension that they read as time",
    computes="Compares the inputs of RNN, LSTM, GRU and MultiheadAttention with the targets of the "
    "loss. Fails if the loss has one target for each index of the dimension that the layer reads "
    "as time, and the other one, which it reads as the batch, has another size above 1. If "
    "the loss has a target for each place of a sequence, the number of samples is that of the "
    "batches of a DataLoader.",
    formula="size(batch dimension) = targets, if size(time dimension) != size(batch dimension)",
    source="torch.nn.LSTM, torch.nn.TransformerEncoderLayer: batch_first is False by default",
    fails="nn.LSTM(4, 24) that gets [50, 10, 4], with 50 labels",
    mend="pass batch_first=True, or transpose the input",
    example="{rule: batch_dimension, severity: error}",
    judge=judge,
)
