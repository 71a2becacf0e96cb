"""The views of a trace, drawn from reports made by hand."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import jsonschema
import pytest

from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.report.events import ChangeRow, Streamed
from hookcli.report.findings import CheckRow
from hookcli.report.schema import json_schema
from hookcli.report.values import Leaf
from tests.formats.fabricate import EVENTS, TRACE, H, X, event, report, stats


def draw(found=TRACE, form="table", **view):
    return FORMATS[form].render(found, View(**view))


def body(text):
    """The lines of the first table, its titles and rows, without the rule."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("---"))
    end = lines.index("", start)
    return [lines[start - 1], *lines[start + 1 : end]]


def traced(*events, **more):
    return report("trace", events=tuple(events), **more)


def test_the_table_is_the_order_of_the_events():
    assert (
        draw(width=80)
        == """\
model  Net  net.py:3
run    real tensors, train mode, cpu, seed 0
loss   probe 0.5

Seq  Phase     Kind                  Target     Call  Shapes
---  --------  --------------------  ---------  ----  ------
  0  forward   forward_pre           (root)        0  [2, 3]
  1  forward   forward_pre           fc            0  [2, 3]
  2  forward   forward               fc            0  [2, 4]
  3  forward   forward_pre           head          0  [2, 4]
  4  forward   forward               head          0  [2, 1]
  5  forward   forward               (root)        0  [2, 1]
  6  backward  tensor                fc:output     0  [2, 4]
  7  backward  post_accumulate_grad  fc.weight        [4, 3]

Events      8
  forward   6
  backward  2
"""
    )


def test_the_tree_opens_at_forward_pre_and_closes_at_forward():
    assert (
        draw(form="tree")
        == """\
model  Net  net.py:3
run    real tensors, train mode, cpu, seed 0
loss   probe 0.5

forward
0  ┌ forward_pre  (root)  [2, 3]
1  │ ┌ forward_pre  fc  [2, 3]
2  │ └ forward  fc  [2, 4]
3  │ ┌ forward_pre  head  [2, 4]
4  │ └ forward  head  [2, 1]
5  └ forward  (root)  [2, 1]

backward
6  tensor  fc:output  [2, 4]
7  post_accumulate_grad  fc.weight  [4, 3]

Events: 8
  forward: 6
  backward: 2
"""
    )


def test_the_tree_in_ascii():
    text = draw(form="tree", unicode=False)
    assert text.isascii()
    assert "1  | / forward_pre  fc  [2, 3]\n2  | \\ forward  fc  [2, 4]\n" in text


def test_several_hooks_on_a_call_open_and_close_one_level():
    text = draw(
        traced(
            event(0, "forward", "global_forward_pre", "fc", 0, hook=0),
            event(1, "forward", "forward_pre", "fc", 0, hook=1),
            event(2, "forward", "forward_pre", "fc", 0, hook=2),
            event(3, "forward", "global_forward", "fc", 0, hook=3),
            event(4, "forward", "forward", "fc", 0, hook=4, changed=0.5),
        ),
        "tree",
    )
    assert (
        text.split("\n\n")[1]
        == """\
forward
0  ┌ global_forward_pre  fc  hooks[0]
1  │ forward_pre  fc  hooks[1]
2  │ forward_pre  fc  hooks[2]
3  │ global_forward  fc  hooks[3]
4  └ forward  fc  changed by 0.5  hooks[4]"""
    )


def test_a_half_that_is_missing_leaves_the_levels_around_it_as_they_are():
    """A recomputation stops early, and its forward hooks do not fire."""
    text = draw(
        traced(
            event(0, "backward", "forward_pre", "", 0, recomputed=True),
            event(1, "backward", "forward_pre", "fc", 0, recomputed=True),
            event(2, "backward", "forward", "", 0, recomputed=True),
            event(3, "backward", "forward", "other", 0),
        ),
        "tree",
    )
    assert (
        text.split("\n\n")[1]
        == """\
backward
0  ┌ forward_pre  (root)  (recomputed)
1  │ forward_pre  fc  (recomputed)
2  └ forward  (root)  (recomputed)
3  forward  other"""
    )


def test_a_recomputed_call_is_no_part_of_the_first():
    found = traced(
        event(0, "forward", "forward_pre", "fc", 0),
        event(1, "forward", "forward", "fc", 0),
        event(2, "backward", "forward_pre", "fc", 0, recomputed=True),
        event(3, "backward", "forward", "fc", 0, recomputed=True),
    )
    assert body(draw(found))[1:] == [
        "  0  forward   forward_pre  fc         0",
        "  1  forward   forward      fc         0",
        "  2  backward  forward_pre  fc         0          recomputed",
        "  3  backward  forward      fc         0          recomputed",
    ]
    assert "note: recomputed: fired again during the backward pass" in draw(found)


def test_columns_come_where_they_tell_events_apart():
    steps = traced(
        event(0, "forward", "forward", "fc", 0),
        event(1, "forward", "forward", "fc", 0, step=1),
        run={"steps": 2, "world_size": 2},
    )
    assert body(draw(steps))[0].split() == [
        "Seq", "Rank", "Step", "Phase", "Kind", "Target", "Call", "Shapes",
    ]  # fmt: skip
    changed = traced(
        event(0, "forward", "op", "", node="aten.addmm", hook=0),
        event(1, "forward", "forward", "fc", 0, hook=1, changed="nan"),
        event(2, "forward", "forward", "fc", 0, hook=2),
    )
    assert body(draw(changed)) == [
        "Seq  Phase    Kind     Target  Call  Node        Shapes  Changed  Hook",
        "  0  forward  op       –             aten.addmm                      0",
        "  1  forward  forward  fc         0                          nan     1",
        "  2  forward  forward  fc         0                                  2",
    ]


def test_one_hook_of_each_kind_needs_no_number():
    assert "Hook" not in draw(
        traced(
            event(0, "forward", "forward_pre", "fc", 0, hook=0),
            event(1, "forward", "forward", "fc", 0, hook=1),
        )
    )


def test_statistics_of_values_show_as_norms():
    known = Leaf("[0]", (2, 3), "float32", stats=stats(1.5))
    found = traced(event(0, "forward", "forward_pre", "fc", 0, (known, X)))
    assert body(draw(found)) == [
        "Seq  Phase    Kind         Target  Call  Shapes          Norm",
        "  0  forward  forward_pre  fc         0  [2, 3], [2, 3]   1.5",
    ]


def test_steps_and_ranks_have_headings_of_their_own():
    found = traced(
        event(0, "forward", "forward", "fc", 0, rank=1),
        event(0, "forward", "forward", "fc", 0),
        event(1, "forward", "forward", "fc", 0, step=1),
        run={"steps": 2, "world_size": 2},
    )
    assert [line for line in draw(found, "tree").splitlines() if line.startswith("forward")] == [
        "forward, step 0, rank 0",
        "forward, step 1, rank 0",
        "forward, step 0, rank 1",
    ]


@pytest.mark.parametrize(
    ("view", "seqs"),
    [
        ({"only": "fc"}, [1, 2, 6]),
        ({"only": "fc*"}, [1, 2, 6, 7]),
        ({"only": "fc:output"}, [6]),
        ({"only": ""}, [0, 5]),
        ({"phase": "backward"}, [6, 7]),
        ({"kinds": ("tensor", "forward")}, [2, 4, 5, 6]),
        ({"depth": 0}, [0, 5]),
        ({"depth": 1}, [0, 1, 2, 3, 4, 5, 6, 7]),  # the parameter is its module's
        ({"phase": "forward", "only": "head"}, [3, 4]),
    ],
)
@pytest.mark.parametrize("form", ["table", "tree", "markdown"])
def test_a_view_picks_events(form, view, seqs):
    text = draw(form=form, **view)
    start = {"table": r"^ *(\d+)  \w", "tree": r"^(\d+)  ", "markdown": r"^\| +(\d+) \|"}[form]
    assert [int(seq) for seq in re.findall(start, text, re.MULTILINE)] == seqs
    assert ("shown" in text) == (len(seqs) < len(EVENTS))


def test_a_view_that_shows_nothing_says_so():
    text = draw(only="nothing", phase="loss", kinds=("a", "b"), depth=0)
    assert "no event matches --only nothing --phase loss --kinds a,b --depth 0" in text
    assert "Seq" not in text


def test_what_changed_most_comes_first():
    found = traced(
        event(0, "forward", "forward", "a", 0),
        event(1, "forward", "forward", "b", 0, changed=0.5),
        event(2, "forward", "forward", "c", 0, changed="inf"),
        event(3, "forward", "forward", "d", 0, changed=2.0),
        event(4, "forward", "forward", "e", 0, changed="nan"),
    )
    rows = body(draw(found, sort="changed", columns=("target",)))
    assert rows == ["Target", "c", "d", "b", "e", "a"]
    rows = body(draw(found, sort="-changed", columns=("target",)))
    assert rows == ["Target", "b", "d", "c", "e", "a"]
    said = "sorted by changed: 2 rows last, 1 with NaN and 1 without a value"
    assert all(said in draw(found, form, sort="changed") for form in ("table", "tree", "markdown"))


def test_streamed_events_are_counted_and_named():
    found = replace(TRACE, events=Streamed("events.jsonl", 1234567, 89))
    for form in ("table", "tree", "markdown"):
        text = draw(found, form)
        assert "1,234,567 events in events.jsonl, 89 more were dropped" in text
    assert "dropped" not in draw(replace(TRACE, events=Streamed("events.jsonl", 5, 0)))


@pytest.mark.parametrize("form", ["table", "tree", "markdown"])
def test_no_events_are_said_to_be_none(form):
    text = draw(replace(TRACE, events=()), form)
    assert "Events" in text
    assert "Seq" not in text


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_the_table_fits_the_terminal(width):
    many = tuple(Leaf(f".key{i}", (2, 64, 128), "float32") for i in range(50))
    name = "encoder.layers.11.attention.self.query_key_value.projection"
    found = traced(
        event(10**5, "backward", "post_accumulate_grad", name, 3, many, node="AddmmBackward0"),
        event(10**5 + 1, "forward", "forward", "fc", 0, (H,), hook=1, changed=0.5),
        event(10**5 + 2, "forward", "forward", "fc", 0, (H,), hook=2, recomputed=True),
    )
    text = draw(found, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert "post_accumulate_grad" in text


def test_on_a_narrow_terminal_columns_give_way_in_their_order():
    found = traced(
        event(0, "forward", "forward", "a.long.enough.name", 1, (H,), node="AddmmBackward0",
              hook=0, changed=0.123456),
        event(1, "forward", "forward", "a.long.enough.name", 2, (H,), hook=1, recomputed=True),
    )  # fmt: skip
    gone, before = [], None
    for width in range(130, 30, -1):
        now = body(draw(found, width=width))[0].split()
        gone += [title for title in before or () if title not in now]
        before = now
    assert gone == ["Hook", "Notes", "Call", "Changed", "Node", "Phase", "Shapes"]
    assert before == ["Seq", "Kind", "Target"]


def test_columns_asked_for_never_go_away():
    text = draw(columns=("seq", "dtype", "values", "kind"), width=40)
    assert body(text)[0].split() == ["Seq", "Dtype", "Shapes", "Kind"]


def test_colour_is_in_titles_notes_and_failures_alone():
    check = CheckRow("unfired_hook", "fc", "fail", "warning", None, None, "it never fired",
                     "hooks.yaml:14: hooks[2]", "0")  # fmt: skip
    found = replace(TRACE, checks=(check,), warnings=("mind this",))
    text = draw(found, color=True)
    assert [line for line in text.splitlines() if "\x1b" in line] == [
        "\x1b[1mmodel  Net  net.py:3\x1b[0m",
        "\x1b[1mSeq  Phase     Kind                  Target     Call  Shapes\x1b[0m",
        "\x1b[33mwarning:\x1b[0m unfired_hook, fc: it never fired (hooks.yaml:14: hooks[2])",
        "\x1b[33mnote:\x1b[0m mind this",
    ]


def test_failed_checks_stand_below_with_errors_first():
    def check(status, severity, rule):
        return CheckRow(rule, "", status, severity, None, None, "so it is", None, "0")

    found = replace(
        TRACE,
        checks=(
            check("fail", "warning", "w"),
            check("pass", "error", "p"),
            check("error", "error", "x"),
            check("fail", "error", "e"),
            check("skip", "error", "s"),
        ),
    )
    expected = ["error: e, the model: so it is", "not judged: x, the model: so it is",
                "warning: w, the model: so it is"]  # fmt: skip
    for form in ("table", "tree"):
        lines = draw(found, form).splitlines()
        assert [line for line in lines if "so it is" in line] == expected
    assert "- **error**: e, the model: so it is" in draw(found, "markdown")


def test_a_hundred_thousand_events_are_all_drawn():
    events = tuple(
        event(i, "forward", ("forward_pre", "forward")[i % 2], f"h.{i // 2}", 0, (H,))
        for i in range(100_000)
    )
    found = traced(*events)
    assert len(body(draw(found))) == 100_001
    assert draw(found, "tree").count("┌ forward_pre") == 50_000


def test_markdown_has_a_row_for_each_event():
    text = draw(form="markdown")
    assert "|   Seq | Phase    | Kind                 | Target    |   Call | Shapes   |" in text
    assert "|     6 | backward | tensor               | fc:output |      0 | [2, 4]   |" in text


def test_a_change_is_shown_as_the_norms_before_and_after():
    clipped = ChangeRow("", stats(12.34567), stats(1.0))
    cast = ChangeRow("[0]", stats(2.0), stats("nan", nans=1), None, ("float32", "float16"))
    cut = ChangeRow("[1]", stats(3.0), None, ((4, 2), None))
    found = traced(
        event(0, "backward", "tensor", "fc.weight", changed=11.34567, changes=(clipped,)),
        event(1, "forward", "forward", "fc", 0, changed=None, changes=(cast, cut)),
        event(2, "forward", "forward", "fc", 1, changed=0.0),
    )
    assert body(draw(found, columns=("target", "changed", "change"))) == [
        "Target     Changed  Norm before → after",
        "fc.weight    11.35  12.35 → 1",
        "fc                  2 → nan (float32 → float16), 3 → – ([4, 2] → –)",
        "fc               0",
    ]
    tree = draw(found, "tree")
    assert "tensor  fc.weight  changed by 11.35 (norm 12.35 → 1)" in tree
    assert "changed (norm 2 → nan (float32 → float16), 3 → – ([4, 2] → –))" in tree
    assert "changed by 11.35 (norm 12.35 -> 1)" in draw(found, "tree", unicode=False)
    assert "12.35 → 1" in draw(found, "markdown", columns=("target", "change"))
    document = json.loads(draw(found, "json"))
    jsonschema.validate(document, json_schema())
    assert document["events"][0]["changes"] == [
        {"path": "", "before": stats(12.34567), "after": stats(1.0)}
    ]
    assert "changes" not in document["events"][2]
