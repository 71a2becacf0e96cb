"""Calls whose tensors have statistics fold like others: what hooks saw is not how a call looks."""

from __future__ import annotations

from dataclasses import replace

from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from tests.formats.fabricate import H, X, layer, report, stats


def test_calls_with_statistics_of_their_own_are_one_row():
    def seen(norm):
        return replace(H, stats=stats(norm))

    rows = [layer(0, "", "Net", None, outputs=(seen(4.0),))]
    rows += [layer(i, "cell", "Linear", 0, inputs=(X,), outputs=(seen(float(i)),), call=i - 1)
             for i in (1, 2, 3)]  # fmt: skip
    assert "cell (Linear) ×3" in FORMATS["table"].render(
        report("inspect", layers=tuple(rows)), View()
    )
