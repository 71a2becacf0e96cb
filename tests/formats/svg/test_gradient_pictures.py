"""Bars and heat maps show the figures of the report, at the places that their scales tell."""

from __future__ import annotations

import dataclasses
import math

import pytest

from hookcli.formats.parts.color_scale import PALETTE
from hookcli.formats.svg.gradient_rows import MOST_ROWS, forward_order
from hookcli.report.report import ErrorInfo
from tests.formats import training_reports
from tests.formats.fabricate import GRADS, LAYERS, layer, parameter, report, stats
from tests.formats.svg.read_svg import picture, render


def grads(parameters, **more):
    return report("grads", parameters=tuple(parameters), **more)


def stepped(name, norms, status="ok"):
    """A parameter with a gradient of each of these norms; None: no gradient."""
    steps = tuple(
        {
            "step": i,
            "grad": None if norm is None else stats(norm),
            "status": "none" if norm is None else status,
        }
        for i, norm in enumerate(norms)
    )
    return parameter(name, (4,), status, grad=steps[-1]["grad"], steps=steps)


def ticks(drawn):
    """The place of each power of ten that the axis names."""
    marked = [e for e in drawn.texts("mono") if e.text.startswith("1e")]
    return {int(e.text[2:]): e.x for e in marked}


def place(axis, value):
    low, high = min(axis), max(axis)
    part = (math.log10(value) - low) / (high - low)
    return axis[low] + part * (axis[high] - axis[low])


def test_bars_end_where_the_axis_has_their_norms():
    rows = [
        parameter("a.weight", (4,), grad=stats(0.02), weight=3.0),
        parameter("a.bias", (4,), grad=stats(5e-4), weight=0.7),
        parameter("b.weight", (4,), grad=stats(1.0), weight=20.0),
    ]
    drawn = picture(grads(rows))
    axis = ticks(drawn)
    assert sorted(axis) == [-4, -3, -2, -1, 0, 1, 2]
    for row, norm, weight in zip(rows, (0.02, 5e-4, 1.0), (3.0, 0.7, 20.0), strict=True):
        bars = [e for e in drawn.rects("bar") if e.tip.startswith(f"{row.name}:")]
        assert [round(e.right - place(axis, norm)) for e in bars] == [0]
        thin = [e for e in drawn.rects("weight") if e.tip.startswith(f"{row.name}:")]
        assert [round(e.right - place(axis, weight)) for e in thin] == [0]
        name = drawn.text(row.name)
        assert bars[0].y < name.y < thin[0].bottom  # on one line


def test_gradients_without_a_norm_have_a_mark_and_a_word_and_no_bar():
    drawn = picture(GRADS)
    for name, word in (
        ("fc.bias", "all zeros"), ("head.bias", "no gradient"), ("scale", "NaN"),
        ("table", "frozen"),
    ):  # fmt: skip
        label = drawn.text(name)
        beside = [e for e in drawn.texts() if e.text == word and abs(e.y - label.y) < 5]
        assert len(beside) == 1, name
        marks = [
            e for e in drawn.elements
            if e.tag == "rect" and e.tip.startswith(f"{name}:")
            and e.attributes.get("fill", "").startswith("url(#")
        ]  # fmt: skip
        assert len(marks) == 1, name
        assert not [e for e in drawn.rects("bar") if e.tip.startswith(f"{name}:")]
    assert len([e for e in drawn.rects("bar") if e.tip]) == 1  # of fc.weight


def test_parameters_are_in_the_order_of_forward_and_uncalled_ones_behind_their_predecessor():
    layers = (LAYERS[0], layer(1, "last", "Linear", 0), layer(2, "first", "Linear", 0))
    names = ("first.weight", "uncalled.weight", "last.weight", "last.bias", "top")
    drawn = picture(grads([parameter(n, (4,), grad=stats(1.0)) for n in names], layers=layers))
    shown = sorted((e for e in drawn.texts("mono") if e.text in names), key=lambda e: e.y)
    assert [e.text for e in shown] == [
        "top", "last.weight", "last.bias", "first.weight", "uncalled.weight",
    ]  # fmt: skip


def test_a_view_selects_and_sorts_the_parameters():
    drawn = picture(GRADS, only="fc.*")
    assert {"fc.weight", "fc.bias"} <= set(drawn.words())
    assert "scale" not in drawn.words()
    rows = [parameter(n, (4,), grad=stats(v)) for n, v in (("a", 1.0), ("b", 9.0), ("c", 4.0))]
    drawn = picture(grads(rows), sort="norm")
    assert [e.text for e in drawn.texts("mono") if e.text in "abc"] == ["b", "c", "a"]


def color(value, low, high):
    """The colour on the palette, by hand."""
    part = min(max((math.log10(value) - math.log10(low)) / math.log10(high / low), 0), 1)
    at = min(int(part * 8), 7)
    rest = part * 8 - at
    return [a + (b - a) * rest for a, b in zip(PALETTE[at], PALETTE[at + 1], strict=True)]


def channels(fill):
    return [int(fill[i : i + 2], 16) for i in (1, 3, 5)]


def test_cells_have_the_colours_of_their_norms():
    norms = {"a": [1e-4, 1e-2, 1.0], "b": [1e-3, 1e-1, 10.0]}
    drawn = picture(grads([stepped(name, values) for name, values in norms.items()]))
    # six values: 5 * 0.02 = 0.1 of the way from -4 to -3, and 0.9 of the way from 0 to 1
    low, high = 10**-3.9, 10**0.9
    for name, values in norms.items():
        cells = [drawn.tipped(f"{name}, step {i}:") for i in range(3)]
        for cell, value in zip(cells, values, strict=True):
            wanted = color(value, low, high)
            assert channels(cell.attributes["fill"]) == pytest.approx(wanted, abs=0.51)
        assert cells[0].x < cells[1].x < cells[2].x
        assert len({cell.y for cell in cells}) == 1
        assert cells[0].y < drawn.text(name).y < cells[0].bottom
    assert {"1.26e-04", "7.943"} <= set(drawn.words())  # the ends of the palette


def test_cells_without_a_norm_have_marks_that_the_legend_names():
    rows = [
        stepped("ok", [0.1, 0.2]),
        stepped("none", [None, 0.1]),
        stepped("zero", [0.0, 0.0], "zero"),
        stepped("nan", [0.1, "nan"], "non_finite"),
        stepped("inf", [0.1, "inf"], "non_finite"),
    ]
    drawn = picture(grads(rows))
    fills = {
        word: drawn.tipped(f"{cell}: {word}").attributes["fill"]
        for cell, word in (
            ("none, step 0", "no gradient"), ("zero, step 1", "all zeros"),
            ("nan, step 1", "NaN"), ("inf, step 1", "infinite"),
        )
    }  # fmt: skip
    assert len(set(fills.values())) == 4
    for word, fill in fills.items():
        entry = drawn.text(word)
        sample = [
            e for e in drawn.elements
            if e.tag == "rect" and e.attributes.get("fill") == fill and not e.tip
        ]  # fmt: skip
        assert len(sample) == 1
        assert sample[0].right < entry.x
        assert sample[0].y < entry.y < sample[0].bottom
        reference = fill.removeprefix("url(#").removesuffix(")")
        assert f'<pattern id="{reference}"' in drawn.source
    assert "frozen" not in drawn.words()  # it does not occur


def test_many_parameters_are_folded_to_their_modules():
    rows = [
        parameter(f"block.{i}.{part}.{kind}", (4,), grad=stats(norm), weight=norm)
        for i in range(40)
        for part in ("one", "two")
        for kind, norm in (("weight", 3.0), ("bias", 4.0))
    ]
    drawn = picture(grads(rows))
    assert "gradients of 160 parameters folded to 80 modules, in the order of forward" in (
        drawn.words()
    )
    assert "gradient 5, weight 5" in drawn.tipped("block.7.two: ").tip  # hypot(3, 4)


def test_a_flat_list_of_many_modules_is_folded_to_neighbours():
    rows = [parameter(f"{i}.weight", (4,), grad=stats(1.0)) for i in range(1000)]
    rows[500] = parameter("500.weight", (4,), "non_finite", grad=stats("nan", nans=1))
    drawn = picture(grads(rows))
    names = [e.text for e in drawn.texts("mono") if " – " in e.text]
    assert names[:2] == ["0 – 8", "9 – 17"]  # ceil(1000 / 120) = 9
    assert len(names) == 111  # the last row has one parameter, and no dash
    nan = [e.tip for e in drawn.elements if "gradient NaN" in e.tip and e.tag == "rect"]
    assert {tip.partition(":")[0] for tip in nan} == {"495 – 503"}


def test_steps_that_share_a_column_show_the_worst_mark_or_the_largest_norm():
    norms = [1.0] * 320
    norms[101], norms[33] = "nan", 8.0
    drawn = picture(grads([stepped("a", norms, "non_finite")]))
    cells = [e for e in drawn.rects("cell") if e.tip]
    assert len(cells) == 160
    assert [e.tip for e in cells if "NaN" in e.tip] == ["a, step 100 to 101: NaN"]
    assert "a, step 32 to 33: 8" in [e.tip for e in cells]


def test_a_large_report_gives_a_small_picture():
    rows = [
        stepped(f"layers.{i // 50}.{i % 50 // 2}.{'weight' if i % 2 else 'bias'}", [0.1] * 20)
        for i in range(5000)
    ]
    text = render(grads(rows))
    assert len(text.encode()) < 2_000_000
    assert "folded to 100 modules" in text


def test_a_picture_is_the_same_each_time():
    assert render(GRADS) == render(GRADS)


def test_losses_are_above_the_heat_map_and_those_that_are_not_finite_are_marked():
    known = grads([stepped("a", [1.0] * 4)], run={"losses": (4.0, 2.0, "nan", 1.0), "steps": 4})
    drawn = picture(known)
    assert {"loss", "4", "1", "step: × marks losses that are not finite"} <= set(drawn.words())
    assert len(drawn.lines("curve")) == 2  # before and after the NaN
    assert len(drawn.lines("cross")) == 1


def test_without_parameters_the_picture_says_so():
    assert "no parameter to show" in picture(grads([])).words()
    assert "no parameter to show" in picture(GRADS, only="nothing").words()


def test_a_run_that_raised_before_its_gradients_shows_where():
    error = ErrorInfo("forward", "fc", 0, (), "ValueError", "too small", "net.py:4")
    layers = (LAYERS[0], dataclasses.replace(LAYERS[1], notes=("raised ValueError",)))
    stopped = grads([parameter("fc.weight", (4, 3), None)], layers=layers, error=error)
    drawn = picture(dataclasses.replace(stopped, status="partial"))
    assert "partial: ValueError in forward, in fc: too small" in drawn.words()
    assert drawn.rects("failed")[0].tip.startswith("fc: Linear")


@pytest.mark.parametrize("known", [training_reports.CNN, training_reports.GAN])
def test_a_training_has_a_map_for_each_record(known):
    drawn = picture(known)
    for record in known.records:
        last = record.training.sampled[-1]
        for row in record.parameters:
            cell = drawn.tipped(f"{row.name}, step {last}:")
            if row.status == "ok":
                norm = row.steps[-1]["grad"]["norm"]
                assert math.isclose(float(cell.tip.rpartition(" ")[2]), norm, rel_tol=1e-2)
            else:
                assert cell.tip.endswith("no gradient")
    assert len(drawn.lines("curve")) == len(known.records)


def test_a_training_without_records_says_so():
    drawn = picture(training_reports.EMPTY)
    assert any("no training was seen" in word for word in drawn.words())


def test_records_of_a_training_are_selected_by_name():
    words = picture(training_reports.GAN, only="netG").words()
    assert any(word.startswith("netG") for word in words)
    assert not any(word.startswith("netD") for word in words)


def test_gradients_that_were_not_measured_are_not_drawn():
    drawn = picture(grads([parameter("a", (4,), None), parameter("b", (4,), "frozen")]))
    assert "no gradient of 2 parameters was measured" in drawn.words()
    assert not drawn.rects("bar")


def test_a_module_that_is_not_registered_has_no_place_among_parameters():
    free = layer(1, None, "Made", 0)
    named = (layer(2, "b", "Linear", 0), layer(3, "a", "Linear", 0))
    calls = (layer(0, "", "Net", None), free, *named)
    rows = [parameter("a.weight", (4,)), parameter("b.weight", (4,))]
    assert [row.name for row in forward_order(grads(rows, layers=calls), rows)] == [
        "b.weight", "a.weight",
    ]  # fmt: skip


def test_parameters_of_few_large_modules_are_folded_by_their_neighbours():
    rows = [parameter(f"m{i % 2}.p{i}", (4,), grad=stats(0.5)) for i in range(MOST_ROWS + 1)]
    names = {e.tip.partition(":")[0] for e in picture(grads(rows)).rects("bar")}
    assert 2 < len(names) <= MOST_ROWS
