"""Reports made by hand for the pages: of very many layers, and with hostile names."""

from __future__ import annotations

import dataclasses

from hookcli.report.findings import CheckRow, Diagnosis
from hookcli.report.report import BufferRow, ErrorInfo, Report, Totals, UncalledRow
from tests.formats.fabricate import H, X, event, layer, parameter, report, stats

PARTS = ("norm1", "attn", "attn.qkv", "attn.proj", "norm2", "mlp", "mlp.up", "mlp.act", "mlp.down")


def large(blocks: int) -> Report:
    """A report of 10 rows for each block, and one for the root; each has a parameter."""
    rows = [layer(0, "", "Net", None)]
    for block in range(blocks):
        top = len(rows)
        rows.append(_nested(top, f"blocks.{block}", "Block", 0, 1))
        for part in PARTS:
            inside = part.rpartition(".")[0]
            parent = top + 1 + PARTS.index(inside) if inside else top
            depth = 3 if inside else 2
            kind = part.rpartition(".")[2].capitalize()
            rows.append(_nested(len(rows), f"blocks.{block}.{part}", kind, parent, depth))
    parameters = [
        parameter(f"{row.name}.weight", (4, 4), grad=stats(0.001 * (i % 1000)), ratio=0.01)
        for i, row in enumerate(rows)
    ]
    totals = Totals(len(rows), len(rows), 16 * len(rows), grad_norm=1.0)
    return report("grads", layers=tuple(rows), parameters=tuple(parameters), totals=totals)


def _nested(order, name, kind, parent, depth):
    made = layer(order, name, kind, parent, output_grad=stats(0.25), input_grad=stats(0.5))
    return dataclasses.replace(made, depth=depth)


MARKUP = "<img src=x onerror=alert(1)>"
# What must be shown as it is; the second is how it is shown, if its characters are escaped.
HOSTILE = {
    MARKUP: MARKUP,
    "</script><script>alert(1)</script>": "</script><script>alert(1)</script>",
    "<!--<script>": "<!--<script>",
    "]]></textarea><svg/onload=alert(1)>": "]]></textarea><svg/onload=alert(1)>",
    "\" onclick='alert(1)' x=`": "\" onclick='alert(1)' x=`",
    "&lt;b&gt;&amp;": "&lt;b&gt;&amp;",
    "{{7*7}}${7*7}": "{{7*7}}${7*7}",
    "javascript:alert(1)": "javascript:alert(1)",
    "a\u202eb\u2066c": "a\\u202eb\\u2066c",
    "line\u2028para\u2029end": "line\\u2028para\\u2029end",
    "nul\x00esc\x1b[31m": "nul\\x00esc\\x1b[31m",
    "lone\ud800\udfffend": "lone\\ud800\\udfffend",
    "__proto__": "__proto__",
    "constructor": "constructor",
    "a&layer=b#tab=c%00+d": "a&layer=b#tab=c%00+d",
    "שלום עולם": "שלום עולם",
}
LONG = "m" * 10_000


def hostile() -> Report:
    """A report in which each hostile text is a name, a type, a place, a message and more."""
    texts = [*HOSTILE, LONG]
    layers = [layer(0, "", MARKUP, None)]
    for text in texts:
        made = layer(len(layers), text, text, 0, shared_with=(text,), notes=(f"raised {text}",))
        leaf = dataclasses.replace(X, path=text, dtype=text)
        layers.append(
            dataclasses.replace(made, place=text, aliases=(text,), inputs=(leaf,), outputs=(leaf,))
        )
    more = {"rule": "finite", "status": "fail", "severity": "error", "value": 1, "limit": None}
    checks = [
        CheckRow(target=t, message=t, place=t, fingerprint=f"{i:016x}", **more)
        for i, t in enumerate(texts)
    ]
    events = [event(i, "forward", t, t, 0, (H,), node=t) for i, t in enumerate(texts)]
    return report(
        "grads",
        layers=tuple(layers),
        uncalled=tuple(UncalledRow(f"never.{t}", t, t) for t in texts),
        parameters=tuple(
            dataclasses.replace(
                parameter(f"{t}.weight", (4, 4), grad=stats(0.5), shared_with=(t,)), module_type=t
            )
            for t in texts
        ),
        buffers=tuple(BufferRow(t, (1,), t, changed=True) for t in texts),
        events=tuple(events),
        checks=tuple(checks),
        diagnoses=tuple(
            Diagnosis("cut", "error", t, t, t, t, ("finite",), (f"{i:016x}",))
            for i, t in enumerate(texts)
        ),
        examined=("finite",),
        warnings=tuple(texts),
        error=ErrorInfo("forward", MARKUP, 0, (X,), MARKUP, MARKUP, MARKUP),
    )
