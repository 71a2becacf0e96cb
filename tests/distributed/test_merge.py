"""Reports of ranks made by hand: what the one report says of the others, and whom it names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.report.encode import to_json
from hookcli.report.ranks.first_failure import Failed, culprit, describe_failure
from hookcli.report.ranks.merge import merge_reports
from hookcli.report.report import ErrorInfo
from hookcli.report.schema import from_json
from tests.distributed.rows import bucket, of_rank, state
from tests.formats.fabricate import LAYERS
from tests.formats.test_perfetto import TIMINGS, check, load


def error(kind="ValueError", message="no", phase="forward", layer="fc", call=0):
    return ErrorInfo(phase, layer, call, (), kind, message, "net.py:9")


def test_ranks_that_agree_differ_in_their_losses_alone():
    whole = merge_reports([of_rank(), of_rank(1, losses=(0.75,))])
    (row,) = whole.distributed.ranks
    assert (row.rank, row.status, row.losses, row.differs, row.error) == (
        1, "complete", (0.75,), (), None,
    )  # fmt: skip
    assert whole.run.world_size == 2
    assert whole.run.losses == (0.5,)
    assert not [one for one in whole.measurements if one.probe == "rank_state"]
    assert from_json(to_json(whole)) == whole


def test_buckets_have_the_norms_of_all_ranks_and_the_largest_error():
    first, second = ([bucket(index=i, norm=r + i, error=e) for i in (0, 1)]
                     for r, e in ((1.0, 0.1), (10.0, 0.3)))  # fmt: skip
    rows = merge_reports([of_rank(buckets=first), of_rank(1, buckets=second)]).distributed.buckets
    assert [(row.norms_before, row.error) for row in rows] == [
        ((1.0, 10.0), 0.3), ((2.0, 11.0), 0.3),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("errors", "most"), [((0.1, "nan"), "nan"), ((None, 0.1), None), (("inf", 0.2), "inf")]
)
def test_an_error_that_is_no_number_is_not_lost(errors, most):
    ranks = [of_rank(i, buckets=[bucket(error=e)]) for i, e in enumerate(errors)]
    assert merge_reports(ranks).distributed.buckets[0].error == most


def test_what_differs_is_told_with_both_values():
    other = of_rank(
        1,
        states=[state("fc.weight", grad="cc", norm=0.75), state("fc.bias", value="dd")],
        layers=LAYERS[:2],
        unreached=("fc.bias",),
    )
    whole = merge_reports([of_rank(), other])
    rows = [(d.what, d.target, d.value, d.of_rank_0) for d in whole.distributed.ranks[0].differs]
    assert rows == [
        ("gradient", "fc.weight", 0.75, 0.5),
        ("parameter value", "fc.bias", 2.0, 2.0),
        ("calls", "", 2, 3),
    ]
    assert [(row.parameter, row.ranks) for row in whole.distributed.unreached] == [
        ("fc.bias", (1,))
    ]
    page = FORMATS["table"].render(whole, View(width=200))
    assert "no gradient: on rank 1: fc.bias" in page
    assert "rank 1: the gradient of fc.weight has norm 0.75, but 0.5 on rank 0" in page
    assert "rank 1: the value of fc.bias has different bits, but the same norm 2" in page
    assert "rank 1: 2 calls, but 3 on rank 0" in page


def test_a_gradient_that_one_rank_lacks_differs():
    other = of_rank(1, states=[state("fc.weight", grad=None), state("fc.bias")])
    (row,) = merge_reports([of_rank(), other]).distributed.ranks[0].differs
    assert (row.what, row.target, row.value, row.of_rank_0) == ("gradient", "fc.weight", None, 0.5)


def test_a_rank_that_left_nothing_is_dead_and_rank_0_must_have_left_something():
    whole = merge_reports([of_rank(), None])
    assert [(row.rank, row.status) for row in whole.distributed.ranks] == [(1, "dead")]
    with pytest.raises(ValueError, match="rank 0"):
        merge_reports([None, of_rank(1)])


def test_hostile_names_are_escaped():
    name = "fc.\x1b[31mweight\u202e"
    other = of_rank(1, states=[state(name, grad="cc")], unreached=(name,))
    first = of_rank(states=[state(name)], buckets=[bucket(names=(name,))])
    page = FORMATS["table"].render(merge_reports([first, other]), View(width=200))
    assert "\x1b" not in page
    assert "\u202e" not in page


LOST = error("RuntimeError", "[../gloo/pair.cc:525] Connection closed by peer", "backward", None)
TIMEOUT = error("timeout", "the run took longer than 5 s (--timeout)")


@pytest.mark.parametrize(
    ("failed", "rank"),
    [
        ([Failed(0, LOST, 1, 0), Failed(1, error(), 1, 1)], 1),
        ([Failed(0, error(), 1, 1), Failed(1, error(), 1, 0)], 1),
        ([Failed(0, LOST, 1, 0), Failed(1, error("died", "died of SIGSEGV"), 1, 1)], 1),
        ([Failed(0, LOST, 0, 1), Failed(1, LOST, 0, 0)], 1),
        ([Failed(0, error("timeout", "t", "backward", None), 2, 0), Failed(1, TIMEOUT, 2, 1)], 1),
        ([Failed(0, TIMEOUT, 1, 0), Failed(1, error("timeout", "t", "backward"), 0, 1)], 1),
        ([Failed(0, TIMEOUT, 0, 0), Failed(1, LOST, 0, 1)], 0),
    ],
)
def test_the_rank_that_it_began_with_is_named(failed, rank):
    assert culprit(failed).rank == rank


def test_what_all_raised_alike_is_no_rank_s():
    failed = [Failed(i, error(), 0, i) for i in range(2)]
    assert describe_failure(failed[0], failed, 3, 2).message == "all ranks, step 0: no"
    assert describe_failure(failed[0], failed[:1], 3, 2).message == "rank 0, step 0: no"
    assert describe_failure(failed[0], failed[:1], 1, 2).message == "rank 0: no"


def test_ranks_are_processes_of_the_timeline_and_buckets_slices():
    buckets = [[0, 0, 40.0, 55.0], [0, 1, 50.0, 58.0], [0, 2, 56.0, 59.0]]
    first = of_rank(timings={**TIMINGS, "buckets": buckets, "start": 100.0})
    other = of_rank(1, timings={**TIMINGS, "start": 70.0}, layers=LAYERS[:2])
    whole = from_json(to_json(merge_reports([first, other])))
    slices = check(load(whole))
    assert {pid for pid, _ in slices} == {0, 1}
    lanes = [(tid - 1_000_000, name, start, end) for (pid, tid), found in slices.items()
             for name, cat, start, end, _ in found if cat == "bucket"]  # fmt: skip
    assert sorted(lanes) == [
        (0, "bucket 0", 70.0, 85.0), (0, "bucket 2", 86.0, 89.0), (1, "bucket 1", 80.0, 88.0),
    ]  # fmt: skip
    starts = {pid: min(s[2] for (p, _), f in slices.items() for s in f if p == pid)
              for pid in (0, 1)}  # fmt: skip
    assert starts == {0: 30.0, 1: 0.0}  # rank 1 began 30 µs before
    assert [row[2] for row in whole.timings["ranks"][0]["layers"]] == ["", "fc"]


def test_a_bucket_that_never_ended_has_no_figures():
    lost = bucket(norm_after=None, norm_exact=None, error=None, wire_bytes=None)
    whole = merge_reports([of_rank(buckets=[lost]), of_rank(1, buckets=[lost])], error())
    assert (whole.status, whole.error) == ("partial", error())
    page = FORMATS["table"].render(whole, View(width=200))
    assert "Sent per step" not in page
    assert replace(whole, error=None).distributed.buckets[0].error is None
