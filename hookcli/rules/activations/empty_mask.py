"""`empty_mask`: no mask of attention leaves nothing to attend to."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.rules.activations.measured import A_FEW, MASKED, UNREAD, place_of, rows_of, seen, where
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, passed, skipped
from hookcli.rules.select import matches
from hookcli.text import counted


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for the first call with each mask that is empty: later ones get the same."""
    read = seen(report, MASKED)
    if read is None:
        yield skipped(UNREAD)
        return
    told = set()
    for measurement in rows_of(report, MASKED):
        value = measurement.value
        key = value["masked"], value["rows"], value["what"]
        if key in told or not any(matches(glob, measurement.target) for glob in options["at"]):
            continue
        told.add(key)
        rows = counted(value["rows"], value["what"], f"{value['what']}s".replace("ys", "ies"))
        message = (
            f"{value['mask']} of {where(measurement)} masks every position for "
            f"{value['masked']:,} of {rows}: nothing is left to attend to"
        )
        yield RuleFinding(
            "fail",
            measurement.target,
            f"empty {value['what']}",
            message,
            value["masked"],
            0,
            place_of(report, measurement),
            cause="empty_mask",
            advice="invert the mask if True should mark what is kept: `key_padding_mask` and "
            "`masked_fill` mask where it is True",
        )
    if not told:
        yield passed(f"no mask is empty in {counted(read, 'attention')}", limit=0)


RULE = Rule(
    name="empty_mask",
    severity="warning",
    diagnoses=True,
    looks_at="masks",
    says="no mask of attention leaves nothing to attend to",
    computes="Finds masks that mask every key of a query: softmax returns NaN for -inf alone, "
    "equal weights for large negative numbers, and fused attention returns zeros. With one mask "
    "per sample, a sample counts if all its queries are masked, because those of padding may be. "
    "Read are the masks that the attention and transformer layers of torch.nn get; those of "
    "masked_fill before a softmax, and of scaled_dot_product_attention, in the autograd graph; and "
    "rows of equal weights after a mask was added to a product of queries and keys that are not "
    "zero.",
    formula="all(mask[b, ..., q, :]) for each q, or for one q of a mask that all samples share",
    source="documentation of nn.MultiheadAttention (True masks) and scaled_dot_product_attention "
    "(True keeps)",
    fails="key_padding_mask=ids != pad; torch.ones(n, n, dtype=torch.bool) as attn_mask",
    mend="invert the mask, or remove samples without tokens from the batch",
    example='{rule: empty_mask, at: "encoder.*", severity: error}',
    options=(RuleOption("at", "globs", "globs of module names", ("*",)),),
    watches=lambda options: (A_FEW,),
    judge=judge,
)
