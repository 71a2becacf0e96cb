"""Timelines: strict JSON, slices that nest on every track, arrows that begin and end in slices.

`check` is written from the format's description, without a look at hookcli's own code.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from hookcli.errors import RequestError
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.report.schema import from_json
from tests.formats.fabricate import EVENTS, LAYERS, H, event, layer, report

TIMINGS = {
    "unit": "us",
    "phases": [[0, "build", 0.0, 5.0], [0, "forward", 10.0, 20.0], [0, "backward", 30.0, 60.0]],
    "calls": [[0, 0, 10.0, 20.0], [1, 0, 11.0, 14.0], [2, 0, 15.0, 19.0]],
    "nodes": [
        [2, "AddmmBackward0", 0, 31.0, 35.0],
        [None, "AccumulateGrad", 0, 35.5, 36.0],
        [2, "TBackward0", 0, 37.0, 38.0],
        [1, "AddmmBackward0", 0, 40.0, 45.0],
        [None, "AccumulateGrad", 0, 46.0, 50.0],
    ],
    "events": [[0, 10.5, 0], [2, 13.5, 0], [6, 39.0, 0]],
}
TIMED = report("trace", layers=LAYERS, events=EVENTS, timings=TIMINGS)


def load(found):
    """The document, read by a reader that takes nothing but JSON."""
    text = FORMATS["perfetto"].render(found, View())

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    document = json.loads(text, parse_constant=refuse)
    assert set(document) == {"traceEvents", "displayTimeUnit", "otherData"}
    assert document["displayTimeUnit"] == "ms"
    return document["traceEvents"]


def check(events):
    """Slices as {(pid, tid): [(name, category, start, end, depth)]}, after all rules are held."""
    open_slices, slices, last = defaultdict(list), defaultdict(list), -math.inf
    tails, heads, named = {}, {}, set()
    for e in events:
        track = (e["pid"], e.get("tid"))
        if e["ph"] == "M":
            if e["name"] == "thread_name":
                assert isinstance(e["args"]["name"], str)
                named.add(track)
            continue
        assert isinstance(e["ts"], float | int)
        assert e["ts"] >= last, "time goes on"
        last = e["ts"]
        stack = open_slices[track]
        if e["ph"] == "B":
            assert isinstance(e["name"], str)
            stack.append((e["name"], e["cat"], e["ts"], len(stack)))
        elif e["ph"] == "E":
            assert stack, "an end without a begin"
            name, cat, start, depth = stack.pop()
            slices[track].append((name, cat, start, e["ts"], depth))
        elif e["ph"] == "s":
            assert stack, "an arrow begins inside a slice"
            assert e["id"] not in tails
            tails[e["id"]] = (stack[-1], e)
        elif e["ph"] == "f":
            assert e["bp"] == "e"
            assert stack, "an arrow ends inside a slice"
            assert e["id"] not in heads
            heads[e["id"]] = (stack[-1], e)
        else:
            assert e["ph"] == "i"
            assert e["s"] == "t"
            assert track in named
    assert not any(open_slices.values()), "every slice ends"
    assert tails.keys() == heads.keys()
    for key, (tail, one) in tails.items():
        head, other = heads[key]
        assert tail[0] == head[0], "an arrow joins slices of one call"
        assert (tail[1], head[1]) == ("forward", "backward")
        assert one["ts"] <= other["ts"]
        assert (one["cat"], one["name"]) == (other["cat"], other["name"])
    assert set(slices) <= named
    return slices


def names(slices, tid):
    """(name, start, end) of a track's slices, as they begin."""
    in_order = sorted(slices[0, tid], key=lambda s: (s[2], s[4]))
    return [(name, start, end) for name, _, start, end, _ in in_order]


def test_forward_and_backward_stand_on_tracks_of_their_own():
    slices = check(load(TIMED))
    assert names(slices, 1) == [("build", 0, 5), ("forward", 10, 20), ("backward", 30, 60)]
    assert names(slices, 2) == [("Net", 10, 20), ("fc (Linear)", 11, 14), ("head (Linear)", 15, 19)]
    assert names(slices, 3) == [
        ("Net", 31, 45),
        ("head (Linear)", 31, 38),
        ("AddmmBackward0", 31, 35),
        ("AccumulateGrad", 35.5, 36),
        ("TBackward0", 37, 38),
        ("fc (Linear)", 40, 45),
        ("AddmmBackward0", 40, 45),
        ("AccumulateGrad", 46, 50),
    ]


def test_processes_and_threads_have_names():
    found = [e for e in load(TIMED) if e["ph"] == "M"]
    said = [(e["name"], e.get("tid"), next(iter(e["args"].values()))) for e in found]
    assert said == [
        ("process_name", None, "Net, rank 0"),
        ("process_sort_index", None, 0),
        ("thread_name", 1, "phases"),
        ("thread_sort_index", 1, 1),
        ("thread_name", 2, "forward"),
        ("thread_sort_index", 2, 2),
        ("thread_name", 3, "backward"),
        ("thread_sort_index", 3, 3),
    ]


def test_an_arrow_goes_from_each_call_s_forward_to_its_backward():
    arrows = [(e["ph"], e["id"], e["ts"]) for e in load(TIMED) if e["ph"] in "sf"]
    assert sorted(arrows, key=lambda a: (a[1], a[0] == "f")) == [
        ("s", 0, 10), ("f", 0, 31),  # Net
        ("s", 1, 15), ("f", 1, 31),  # head
        ("s", 2, 11), ("f", 2, 40),  # fc
    ]  # fmt: skip


def test_hooks_are_instants_on_the_track_of_their_phase():
    instants = [e for e in load(TIMED) if e["ph"] == "i"]
    assert [(e["name"], e["tid"], e["ts"], e["args"]["target"]) for e in instants] == [
        ("forward_pre", 2, 10.5, ""), ("forward", 2, 13.5, "fc"), ("tensor", 3, 39.0, "fc:output"),
    ]  # fmt: skip


def test_a_slice_says_shapes_type_and_place():
    first = next(e for e in load(TIMED) if e.get("cat") == "forward" and e["name"] == "fc (Linear)")
    assert first["args"] == {
        "name": "fc", "type": "Linear", "order": 1, "call": 0, "inputs": ["[0] [2, 3] float32"],
        "outputs": ["[2, 4] float32"], "place": "net.py:4",
    }  # fmt: skip


def test_a_call_that_two_branches_share_time_with_is_cut_in_pieces():
    nodes = [[1, "A", 0, 31, 32], [2, "B", 0, 33, 34], [1, "C", 0, 35, 36]]
    found = replace(TIMED, timings={**TIMINGS, "nodes": nodes})
    events = load(found)
    back = names(check(events), 3)
    assert [n[1:] for n in back if n[0] == "fc (Linear)"] == [(31, 32), (35, 36)]
    assert back[0] == ("Net", 31, 36)
    assert sum(e["ph"] == "f" for e in events) == 3  # Net, fc and head, each once


def test_a_node_that_runs_others_holds_them():
    """Reentrant checkpointing: the function's node runs a backward of its own."""
    nodes = [
        [1, "CheckpointFunctionBackward", 0, 31, 50],
        [3, "AddmmBackward0", 0, 33, 40],
        [None, "AccumulateGrad", 0, 41, 49],
        [1, "ViewBackward0", 0, 51, 52],
    ]
    again = layer(3, "fc", "Linear", 1, recomputed=True)
    timings = {**TIMINGS, "nodes": nodes, "calls": [*TIMINGS["calls"], [3, 0, 32, 33]]}
    slices = check(load(replace(TIMED, layers=(*LAYERS, again), timings=timings)))
    found = [(name, start, end, depth) for name, _, start, end, depth in slices[0, 3]]
    assert sorted(found, key=lambda s: (s[1], s[3])) == [
        ("Net", 31, 52, 0),
        ("fc (Linear)", 31, 52, 1),
        ("CheckpointFunctionBackward", 31, 50, 2),
        ("fc (Linear)", 33, 40, 3),
        ("AddmmBackward0", 33, 40, 4),
        ("AccumulateGrad", 41, 49, 3),
        ("ViewBackward0", 51, 52, 2),
    ]


def test_two_backward_passes_are_two():
    timings = {
        **TIMINGS,
        "phases": [[0, "backward", 30, 40], [1, "backward", 50, 60]],
        "nodes": [[1, "A", 0, 31, 39], [1, "A", 0, 51, 59]],
    }
    found = replace(TIMED, timings=timings, run=replace(TIMED.run, steps=2))
    slices = check(load(found))
    assert [n for n in names(slices, 3) if n[0] == "Net"] == [("Net", 31, 39), ("Net", 51, 59)]
    assert [name for name, _, _ in names(slices, 1)] == ["step 0: backward", "step 1: backward"]


def test_each_step_s_arrow_starts_at_its_own_forward():
    timings = {
        "unit": "us",
        "phases": [[0, "forward", 0, 10], [0, "backward", 10, 20], [1, "forward", 20, 30],
                   [1, "backward", 30, 40]],
        "calls": [[0, 0, 1, 9], [0, 0, 21, 29]],
        "nodes": [[0, "A", 0, 11, 19], [0, "A", 0, 31, 39]],
        "events": [],
    }  # fmt: skip
    arrows = [(e["ph"], e["ts"]) for e in load(replace(TIMED, timings=timings)) if e["ph"] in "sf"]
    assert arrows == [("s", 1), ("f", 11), ("s", 21), ("f", 31)]


def test_other_threads_have_tracks_of_their_own():
    timings = {
        **TIMINGS,
        "calls": [*TIMINGS["calls"], [1, 2, 12.0, 18.0]],
        "nodes": [*TIMINGS["nodes"], [2, "A", 1, 32.0, 41.0]],
    }
    events = load(replace(TIMED, timings=timings))
    said = {e["tid"]: e["args"]["name"] for e in events if e.get("name") == "thread_name"}
    assert said[6] == "forward, thread 2"
    assert said[5] == "backward, thread 1"
    assert names(check(events), 5)[-1] == ("A", 32, 41)


def test_a_call_that_never_ended_lasts_to_its_caller_s_end():
    timings = {**TIMINGS, "calls": [[0, 0, 10.0, 20.0], [1, 0, 11.0, None], [2, 0, 15.0, 30.0]]}
    forward = names(check(load(replace(TIMED, timings=timings))), 2)
    assert forward == [("Net", 10, 20), ("fc (Linear)", 11, 20), ("head (Linear)", 15, 20)]


def test_all_that_never_ended_lasts_to_the_end_of_all():
    timings = {**TIMINGS, "calls": [[0, 0, 10.0, None]], "nodes": [[0, "A", 0, 40.0, None]]}
    slices = check(load(replace(TIMED, timings=timings)))
    assert names(slices, 2) == [("Net", 10, 60)]
    assert names(slices, 3) == [("Net", 40, 60), ("A", 40, 60)]


def test_times_are_kept_to_the_nanosecond():
    timings = {**TIMINGS, "calls": [[0, 0, 10.0004999, 20.123456]]}
    assert names(check(load(replace(TIMED, timings=timings))), 2) == [("Net", 10.0, 20.123)]


def test_a_firing_whose_event_was_dropped_is_still_there():
    found = replace(TIMED, events=())
    assert [e["name"] for e in load(found) if e["ph"] == "i"] == ["event 0", "event 2", "event 6"]


def test_nothing_timed_is_an_empty_timeline():
    assert check(load(report("trace", timings={}))) == {}


def test_a_report_without_timings_says_how_to_get_them():
    with pytest.raises(RequestError) as caught:
        FORMATS["perfetto"].render(report("trace"), View())
    assert str(caught.value) == "the report has no timings"
    assert caught.value.hint.startswith("run `hookcli trace MODEL -f perfetto=")


@pytest.mark.parametrize(
    "timings",
    [
        {"unit": "s"},
        {"calls": 5},
        {"calls": [[0, 0, 1]]},
        {"calls": [[0, 0, "x", 2]]},
        {"calls": [[0, -1, 1, 2]]},
        {"calls": [[0, 0, True, 2]]},
        {"nodes": [["x", "A", 0, 1, 2]]},
        {"events": [[0, None, 0]]},
        {"events": [[0, "nan", 0]]},
        {"phases": {"a": 1}},
        {"phases": [None]},
    ],
)
def test_timings_that_are_none_are_refused(timings):
    with pytest.raises(RequestError) as caught:
        FORMATS["perfetto"].render(report("trace", timings=timings), View())
    assert caught.value.place == "-f perfetto"


def test_a_timeline_is_drawn_from_a_saved_report():
    again = from_json(FORMATS["json"].render(TIMED, View()))
    assert FORMATS["perfetto"].render(again, View()) == FORMATS["perfetto"].render(TIMED, View())


def test_a_view_changes_no_timeline():
    view = View(only="x", depth=0, phase="loss", columns=("nothing",), sort="nothing")
    assert FORMATS["perfetto"].render(TIMED, view) == FORMATS["perfetto"].render(TIMED, View())


def test_twenty_thousand_nodes_are_drawn():
    below = (layer(i + 1, f"h.{i}", "Linear", 0) for i in range(1000))
    layers = (layer(0, "", "Net", None), *below)
    nodes = [[1 + i // 20, f"N{i}", 0, 10.0 + i, 10.5 + i] for i in range(20_000)]
    events = tuple(event(i, "backward", "node", "h.0", 0, (H,)) for i in range(20_000))
    timings = {"nodes": nodes, "events": [[i, 10.25 + i, 0] for i in range(20_000)]}
    slices = check(load(report("trace", layers=layers, events=events, timings=timings)))
    assert Counter(cat for _, cat, _, _, _ in slices[0, 3]) == {"node": 20_000, "backward": 1001}


TIMES = st.integers(0, 60).map(float)
PARENTS = st.lists(st.integers(0, 8), max_size=8)


@st.composite
def timed(draw):
    """Any tree of calls, with any times at all: also such as no run could have."""
    parents = [None, *(min(p, i) for i, p in enumerate(draw(PARENTS)))]
    rows = tuple(layer(i, f"m{i}" if i else "", "M", p) for i, p in enumerate(parents))
    order = st.integers(0, len(rows))  # one past the end is a row that is not there
    thread = st.integers(0, 1)
    end = st.one_of(st.none(), TIMES)
    spans = st.tuples(TIMES, TIMES).map(sorted)
    return report(
        "trace",
        layers=rows,
        timings={
            "unit": "us",
            "phases": [[0, "backward", a, b] for a, b in draw(st.lists(spans, max_size=4))],
            "calls": draw(st.lists(st.tuples(order, thread, TIMES, end), max_size=12)),
            "nodes": draw(
                st.lists(
                    st.tuples(order | st.none(), st.sampled_from("ABC"), thread, TIMES, end),
                    max_size=20,
                )
            ),
            "events": draw(st.lists(st.tuples(st.integers(0, 3), TIMES, thread), max_size=4)),
        },
        events=EVENTS[:2],
    )


@settings(deadline=None, max_examples=400)
@given(timed())
def test_whatever_the_times_are_slices_nest_and_arrows_hold(found):
    slices = check(load(found))
    nodes = [s for track in slices.values() for s in track if s[1] == "node"]
    assert len(nodes) == len(found.timings["nodes"])
