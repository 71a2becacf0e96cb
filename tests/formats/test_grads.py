"""The views of gradients, drawn from reports made by hand."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from hookcli.formats.grads.non_finite import first_non_finite, moments
from hookcli.formats.parts.bars import Scale
from hookcli.formats.parts.text import figure
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.report.report import Totals
from hookcli.report.values import Leaf
from tests.formats.fabricate import (
    GRADS,
    LAYERS,
    PARAMETERS,
    H,
    X,
    event,
    layer,
    parameter,
    report,
    stats,
)


def draw(found=GRADS, form="table", **view):
    return FORMATS[form].render(found, View(**view))


def tables(text):
    """Of each drawn table its lines without the rule."""
    found = []
    for part in text.split("\n\n"):
        lines = part.splitlines()
        if len(lines) > 1 and lines[1].startswith("---"):
            found.append([lines[0], *lines[2:]])
    return found


def first_column(text, table=0):
    return [line.split()[0] for line in tables(text)[table][1:]]


def grads(*rows, **more):
    return report("grads", parameters=tuple(rows), **more)


def test_the_table_at_80_columns():
    assert (
        draw(width=80)
        == """\
model  Net  net.py:3
run    real tensors, train mode, cpu, seed 0
loss   probe 0.5

Parameter  Shape   Grad norm  Ratio  Status                            1e-1..1e0
---------  ------  ---------  -----  --------------------------------  ---------
fc.weight  [4, 3]        0.5   0.25  ok                                ━━━━━━
fc.bias    [4]             0      0  zero
head.bias  [1]             –      –  none: the loss does not reach it
scale      [1]           nan    nan  non-finite
table      [4]             –      –  frozen

Layer (type)   Output grad  Input grad  1e-1..1e0             Place
-------------  -----------  ----------  --------------------  --------
Net                      1         0.5  ━━━━━━━━━━━━━━━━━━━━  net.py:3
fc (Linear)           0.25    1.00e-04  ━━━━━━━━              net.py:4
head (Linear)            1           –  ━━━━━━━━━━━━━━━━━━━━  net.py:5

Gradient norm  1.25
Gradients      1 ok, 1 none (the loss does not reach them), 1 zero, 1
               non-finite, 1 frozen

first non-finite: the gradient of scale: 1 NaN in 8 elements

note: shared parameters, shown and counted once: fc.weight = head.weight
note: 7 columns do not fit: mean, min, max, std, weight, nan, zeros (use a wider
      terminal or `--columns`)
"""
    )


def test_the_table_at_200_columns_in_ascii():
    text = draw(width=200, unicode=False)
    assert text.isascii()
    assert text.split("\n\n")[1].splitlines() == [
        "Parameter  Shape   Grad norm  Mean  Std   Min  Max  Zeros  NaN  Weight norm  Ratio  St"
        "atus                            1e-1..1e0",
        "---------  ------  ---------  ----  ---  ----  ---  -----  ---  -----------  -----  --"
        "------------------------------  --------------------",
        "fc.weight  [4, 3]        0.5  0.01  0.2  -0.3  0.4      0    0            2   0.25  ok"
        "                                ##############",
        "fc.bias    [4]             0  0.01  0.2  -0.3  0.4      4    0            2      0  zero",
        "head.bias  [1]             -     -    -     -    -      -    -            2      -  no"
        "ne: the loss does not reach it",
        "scale      [1]           nan  0.01  0.2  -0.3  0.4      0    1            2    nan  no"
        "n-finite",
        "table      [4]             -     -    -     -    -      -    -            2      -  fr"
        "ozen",
    ]


def test_the_tree_has_the_norm_over_what_is_below():
    rows = (
        parameter("encoder.0.weight", (2, 2), grad=stats(3.0)),
        parameter("encoder.0.bias", (2,), grad=stats(4.0)),
        parameter("encoder.1.weight", (2, 2), grad=stats(12.0)),
        parameter("head.weight", (2, 2), "none"),
        parameter("scale", (1,), grad=stats(0.0), status="zero"),
    )
    assert (
        draw(grads(*rows), "tree", unicode=False).split("\n\n")[1]
        == """\
Net                     13
|- scale [1]             0                        zero
|- encoder              13
|  |- 0 (Linear)         5
|  |  |- weight [2, 2]   3  #####                 ok
|  |  `- bias [2]        4  ######                ok
|  `- 1 (Linear)        12
|     `- weight [2, 2]  12  ###########           ok
`- head (Linear)         -
   `- weight [2, 2]      -                        none: the loss does not reach it"""
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"), (0, "0"), (0.0, "0"), (1, "1"), (0.12345678, "0.1235"), (-1e-30, "-1.00e-30"),
        (1234.5678, "1235"), (99999.4, "99999"), (1e5, "1.00e+05"), (9.9999e-4, "1.00e-03"),
        (2**70, "1.18e+21"), ("nan", "nan"), ("-inf", "-inf"), (True, "?"), ([1], "?"),
    ],
)  # fmt: skip
def test_numbers_have_three_or_four_digits(value, text):
    assert figure(value) == text


@pytest.mark.parametrize("unicode", [True, False])
def test_bars_are_on_a_log_scale(unicode):
    scale = Scale.over([1e-4, 1e-2, 1.0, None, "nan", 0, float("inf")], unicode=unicode)
    assert scale.title() == "1e-4..1e0"
    lengths = [len(scale.bar(v).rstrip()) for v in (1.0, 1e-1, 1e-2, 1e-3, 1e-4)]
    assert lengths == [20, 15, 10, 5, 1]
    for value in (None, "nan", 0, 0.0, -1.0):
        assert scale.bar(value) == " " * 20
    assert {len(scale.bar(v, 8)) for v in (1.0, 1e-3, None)} == {8}


def test_bars_of_nothing_and_of_one_value():
    assert Scale.over([], unicode=True).title() == "1e0..1e1"
    assert len(Scale.over([5.0], unicode=True).bar(5.0).rstrip()) == 14  # log10(5) of one decade


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        (None, ["fc.weight", "fc.bias", "head.bias", "scale", "table"]),
        ("order", ["fc.weight", "fc.bias", "head.bias", "scale", "table"]),
        ("name", ["fc.bias", "fc.weight", "head.bias", "scale", "table"]),
        ("norm", ["fc.weight", "fc.bias", "scale", "head.bias", "table"]),
        ("-norm", ["fc.bias", "fc.weight", "scale", "head.bias", "table"]),
        ("ratio", ["fc.weight", "fc.bias", "scale", "head.bias", "table"]),
        ("status", ["scale", "head.bias", "fc.bias", "fc.weight", "table"]),
        ("params", ["fc.weight", "fc.bias", "table", "head.bias", "scale"]),
    ],
)
def test_sorting_puts_rows_without_a_value_last(sort, names):
    assert first_column(draw(sort=sort)) == names


def test_sorting_by_norm_sorts_the_calls_too():
    found = replace(GRADS, layers=(*LAYERS, layer(3, "x", "X", 0, output_grad=stats("nan"))))
    assert first_column(draw(found, sort="norm"), 1) == ["Net", "head", "fc", "x"]
    assert first_column(draw(found, sort="-norm"), 1) == ["fc", "Net", "head", "x"]
    assert "with NaN" in draw(found, sort="norm")


@pytest.mark.parametrize(
    ("view", "names", "calls"),
    [
        ({"only": "fc.*"}, ["fc.weight", "fc.bias"], None),
        ({"only": "fc"}, ["fc.weight", "fc.bias"], ["fc"]),
        ({"only": "head*"}, ["fc.weight", "head.bias"], ["head"]),  # fc.weight has a second name
        ({"depth": 0}, ["scale", "table"], ["Net"]),
        ({"only": "nothing"}, None, None),
    ],
)
def test_a_view_picks_parameters_and_calls(view, names, calls):
    text = draw(**view)
    drawn = [[line.split()[0] for line in table[1:]] for table in tables(text)]
    assert drawn == [one for one in (names, calls) if one is not None]
    assert ("no name matches --only nothing" in text) == (not drawn)


def test_columns_asked_for_choose_the_table_too():
    both = draw(columns=("name", "norm", "layer"))
    assert [table[0] for table in tables(both)] == ["Parameter  Grad norm", "Layer (type)"]
    one = draw(columns=("status", "name"))
    assert [table[0].split() for table in tables(one)] == [["Status", "Parameter"]]
    other = draw(columns=("bar", "input", "layer"))
    titles = [table[0] for table in tables(other)]
    assert titles == ["1e-1..1e0             Input grad  Layer (type)"]
    assert "fc.weight = head.weight" in other


def test_on_a_narrow_terminal_columns_give_way_in_their_order():
    gone, before = [], None
    for width in range(160, 30, -1):
        now = tables(draw(columns=View().columns, width=width))[0][0].replace(
            "Grad norm", "Grad_norm"
        )
        now = now.replace("Weight norm", "Weight_norm").replace("1e-1..1e0", "bar").split()
        gone += [title for title in before or () if title not in now]
        before = now
    assert gone == [
        "Mean", "Min", "Max", "Std", "Weight_norm", "NaN", "Zeros", "Shape", "bar", "Ratio",
    ]  # fmt: skip
    assert before == ["Parameter", "Grad_norm", "Status"]


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_the_tables_fit_the_terminal(width):
    name = "encoder.layers.11.attention.self.query_key_value.projection"
    rows = [parameter(f"{name}.{i}", (1024, 4096, 3, 3), "none") for i in range(3)]
    rows += [parameter(name, (3,), grad=stats(1.234e-30, zeros=10**7, infs=12, nans=3), ratio=1e-9)]
    calls = [layer(0, name, "VeryLongTypeNameOfALayer", None, output_grad=stats(1e-30))]
    text = draw(grads(*rows, layers=tuple(calls), totals=Totals(1, 1, 1)), width=width)
    lines = [line for line in text.splitlines() if name not in line]  # a long word stays whole
    assert max(map(len, lines)) <= width
    assert all(len(line) <= width for table in tables(text) for line in table)


def step(norm, status="ok"):
    return {"grad": None if norm is None else stats(norm), "status": status}


def test_steps_stand_side_by_side():
    rows = (
        parameter("a", (2,), grad=stats(2.0), steps=(step(1.0), step(2.0))),
        parameter("b", (2,), "non_finite", steps=(step(None, "none"), step("inf", "non_finite"))),
    )
    found = grads(*rows, run={"steps": 2, "losses": (0.5, "nan")})
    text = draw(found, columns=View().columns, width=200)
    assert tables(text)[0][0].split("  ")[0] == "Parameter"
    assert [line.split()[:4] for line in tables(text)[0][1:]] == [
        ["a", "[2]", "1", "2"],
        ["b", "[2]", "–", "inf"],
    ]
    assert "Step 0  Step 1" in text
    assert "none: the loss does not reach it, non-finite" in text
    assert "loss   probe 0.5, nan, 2 steps" in text


def test_of_many_steps_the_last_ones_stay():
    rows = [parameter("a", (2,), grad=stats(9.0), steps=tuple(step(float(i)) for i in range(10)))]
    titles = tables(draw(grads(*rows, run={"steps": 10}), width=60))[0][0]
    assert "Step 9" in titles
    assert "Step 0" in titles
    assert "Step 1 " not in titles


def test_one_step_is_no_comparison():
    rows = [parameter("a", (2,), grad=stats(1.0), steps=(step(1.0),))]
    assert "Grad norm" in draw(grads(*rows))


def test_calls_have_numbers_where_a_layer_ran_twice():
    calls = (*LAYERS, layer(3, "fc", "Linear", 0, call=1, output_grad=stats(0.5)))
    table = tables(draw(replace(GRADS, layers=calls)))[1]
    assert table[0].split()[:3] == ["Layer", "(type)", "Call"]
    assert table[-1].split()[:4] == ["fc", "(Linear)", "1", "0.5"]


def test_a_recomputed_call_without_gradient_is_left_out():
    calls = (*LAYERS, layer(3, "fc", "Linear", 0, recomputed=True))
    assert len(tables(draw(replace(GRADS, layers=calls)))[1]) == 4


def test_without_a_backward_there_is_one_table_and_a_note():
    found = grads(
        parameter("a", (2,), None), layers=(layer(0, "", "Net", None),), totals=Totals(1, 1, 2)
    )
    text = draw(found)
    assert len(tables(text)) == 1
    assert "no backward pass ran, so no parameter has a gradient" in text
    assert "Gradient" not in text.split("note:")[0]


@pytest.mark.parametrize("form", ["table", "tree", "markdown"])
def test_a_report_without_rows_is_drawn(form):
    assert "Net" in draw(grads(layers=()), form)


def test_calls_end_in_the_order_of_the_forward():
    nested = (
        layer(0, "", "Net", None),
        layer(1, "a", "A", 0),
        layer(2, "a.b", "B", 1),
        layer(3, "c", "C", 0),
    )
    order = [(row.order, moment) for row, moment in moments(report("grads", layers=nested))]
    assert order == [
        (0, "enter"), (1, "enter"), (2, "enter"), (2, "exit"), (1, "exit"), (3, "enter"),
        (3, "exit"), (0, "exit"),
    ]  # fmt: skip


BAD = stats("nan", nans=2, infs=1)


def bad_leaf(path=""):
    return Leaf(path, (2, 4), "float32", stats=BAD)


def layers_with(**which):
    """fc inside block, then head; `which` gives rows' fields by their names."""
    return (
        layer(0, "", "Net", None, **which.get("root", {})),
        layer(1, "block", "Block", 0, **which.get("block", {})),
        layer(2, "block.fc", "Linear", 1, **which.get("fc", {})),
        layer(3, "head", "Linear", 0, **which.get("head", {})),
    )


@pytest.mark.parametrize(
    ("more", "first"),
    [
        ({}, None),
        (
            {
                "layers": layers_with(
                    fc={"outputs": (H, bad_leaf(".h"))}, block={"outputs": (bad_leaf(),)}
                )
            },
            "output.h of block.fc (Linear), at net.py:5: 2 NaN, 1 Inf in 8 elements",
        ),
        (
            {
                "layers": layers_with(head={"inputs": (X, bad_leaf("[1]"))}),
                "run": {"losses": ("nan",)},
            },
            "input[1] of head (Linear), at net.py:6: 2 NaN, 1 Inf in 8 elements",
        ),
        ({"run": {"losses": (0.5, "inf")}}, "the loss is inf"),
        (  # backward goes the forward's way back: head's input, then block's output, then fc's
            {"layers": layers_with(fc={"output_grad": BAD}, block={"output_grad": BAD, "call": 1})},
            "the gradient at the output of block (Block), call 1, at net.py:4: "
            "2 NaN, 1 Inf in 8 elements",
        ),
        (
            {"layers": layers_with(fc={"output_grad": BAD}, head={"input_grad": BAD})},
            "the gradient at the input of head (Linear), at net.py:6: 2 NaN, 1 Inf in 8 elements",
        ),
        (
            {"parameters": (parameter("a", (2,), grad=BAD), parameter("b", (2,), grad=BAD))},
            "the gradient of b: 2 NaN, 1 Inf in 8 elements",
        ),
        (
            {
                "events": (event(0, "backward", "tensor", "fc:output", 0, (bad_leaf(),)),),
                "layers": layers_with(head={"output_grad": BAD}),
            },
            "tensor at fc:output: 2 NaN, 1 Inf in 8 elements",  # no call of fc is known
        ),
        (
            {
                "events": (
                    event(0, "forward", "forward", "head", 0, (H,)),
                    event(1, "backward", "node", "block:input[0]", 0, (H, bad_leaf())),
                ),
                "layers": layers_with(block={"output_grad": stats(1.0)}),
            },
            "the gradient at input[0] of block (Block), at net.py:4 (finite at its output): "
            "2 NaN, 1 Inf in 8 elements",
        ),
        (
            {
                "run": {"losses": (0.5, "nan"), "steps": 2},
                "events": (
                    event(0, "backward", "tensor", "block:output", 0, (H,)),
                    event(1, "backward", "tensor", "block:output", 0, (bad_leaf(),), step=1),
                ),
                "layers": layers_with(),
            },
            "the loss of step 1 is nan",
        ),
        (
            {
                "run": {"losses": (0.5, "nan"), "steps": 2},
                "events": (
                    event(0, "forward", "forward", "head", 0, (bad_leaf(),), step=1),
                    event(1, "backward", "tensor", "head:output", 0, (bad_leaf(),), step=1),
                ),
                "layers": layers_with(),
            },
            "forward of head (Linear), at net.py:6, step 1: 2 NaN, 1 Inf in 8 elements",
        ),
        (
            {
                "parameters": (
                    parameter("a", (2,), grad=BAD, steps=({"grad": stats(1.0)}, {"grad": BAD})),
                    parameter("b", (2,), grad=BAD, steps=({"grad": BAD}, {"grad": BAD})),
                )
            },
            "the gradient of b, step 0: 2 NaN, 1 Inf in 8 elements",
        ),
    ],
)
def test_the_first_place_that_is_not_finite(more, first):
    found = report("grads", **more)
    assert first_non_finite(found) == first
    for form in ("table", "tree", "markdown"):
        assert ("first non-finite" in draw(found, form)) == (first is not None)


def test_statuses_have_colours():
    text = draw(color=True, width=200)
    assert "\x1b[31mnon-finite\x1b[0m" in text
    assert "\x1b[33mnone: the loss does not reach it\x1b[0m" in text
    assert "\x1b[2mfrozen\x1b[0m" in text
    assert "\x1b[31mfirst non-finite:\x1b[0m the gradient" in text
    plain = draw(color=False, width=200)
    assert re.sub(r"\x1b\[\d*m", "", text) == plain


def test_markdown_has_both_tables():
    text = draw(form="markdown")
    lines = text.splitlines()
    assert any(line.startswith("| fc.weight   | [4, 3]  |         0.5 |") for line in lines)
    assert any(line.startswith("| fc (Linear)    |          0.25 |") for line in lines)
    assert "- **first non-finite**: the gradient of scale: 1 NaN in 8 elements" in lines
    assert "- shared parameters, shown and counted once: fc.weight = head.weight" in lines


def test_figures_that_nobody_wrote_are_drawn_all_the_same():
    """A report may have been edited by hand: its statistics are any JSON."""
    odd = {"norm": "much", "mean": [1], "zeros": "some", "nans": "x", "numel": None}
    rows = (
        parameter("a", (2,), grad=odd, ratio=0.5, steps=({"status": [1]}, {"grad": 5})),
        parameter("b", (2,), grad={}, ratio=0.5),
        parameter("c", (2,), grad=stats(1e308), ratio=0.5),
    )
    calls = (layer(0, "", "Net", None, output_grad={"norm": "x" * 300}, input_grad={}),)
    for form in ("table", "tree", "markdown"):
        for sort in ("norm", "ratio", "status", "params"):
            assert "Net" in draw(grads(*rows, layers=calls), form, sort=sort)


def test_a_thousand_dots_in_a_name_are_only_deep():
    deep = parameter(".".join("a" * 3000), (1,), grad=stats(1.0))
    assert draw(grads(deep), "tree").count("─ a") == 3000


def test_modules_that_are_shared_are_named_once():
    rows = (
        parameter("a.x.weight", (1,), shared_with=("b.x.weight",)),
        parameter("a.x.bias", (1,), shared_with=("b.x.bias", "c.bias")),
        parameter("wte.weight", (1,), shared_with=("lm_head.weight",)),
        parameter("p", (1,), shared_with=("q",)),
    )
    assert (
        "note: shared parameters, shown and counted once: a.* = b.* ×2, a.x.bias = c.bias, "
        "wte.weight = lm_head.weight, p = q" in draw(grads(*rows), width=200)
    )


def test_bars_give_way_before_names():
    name = "encoder.layers.11.attention.out"
    text = draw(grads(parameter(name, (1024, 1024), grad=stats(0.5), ratio=0.1)), width=90)
    assert f"\n{name} " in text
    assert "1e-1..1e0" in text


def test_ten_thousand_parameters_are_drawn():
    rows = tuple(parameter(f"h.{i}.weight", (2, 2), grad=stats(i + 1.0)) for i in range(10_000))
    assert len(tables(draw(grads(*rows)))[0]) == 10_001


def test_the_rows_of_the_fixture_add_up():
    assert sum(row.numel for row in PARAMETERS) == 22
