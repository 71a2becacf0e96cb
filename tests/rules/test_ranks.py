"""The rules for several ranks, on reports made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookcli.report.ranks.merge import merge_reports
from hookcli.rules.catalogue import CATALOGUE, with_safe_set
from hookcli.rules.judge import judge_report
from hookcli.spec.checks import CheckSpec
from tests.distributed.rows import bucket, of_rank, state
from tests.formats.fabricate import report


def judge(rule, ranks, **options):
    """(status, target, sentence) of what the rule says of these ranks."""
    found = judge_report(merge_reports(ranks), (CheckSpec(rule, options),))
    return [(row.status, row.target, row.message) for row in found.checks if row.rule == rule]


GOOD = [state("fc.weight"), state("fc.bias")]
NOISE = [state("fc.weight", grad="cc", norm=0.5000001), state("fc.bias")]


@pytest.mark.parametrize(
    ("other", "options", "target", "said"),
    [
        ([state("fc.weight", grad="cc", norm=0.75), state("fc.bias")], {}, "fc.weight",
         "rank 1 and rank 0 have different gradients of fc.weight (norms of fc.weight: 0.75, 0.5)"),
        ([state("fc.weight"), state("fc.bias", value="dd")], {}, "fc.bias",
         "rank 1 and rank 0 have different values of fc.bias (norms of fc.bias: 2, 2)"),
        ([state("fc.weight", grad=None), state("fc.bias")], {"rtol": 0.1}, "fc.weight",
         "rank 1 and rank 0 have different gradients of fc.weight"),
        (NOISE, {}, "fc.weight",
         "rank 1 and rank 0 have different gradients of fc.weight (norms of fc.weight: 0.5, 0.5)"),
    ],
)  # fmt: skip
def test_ranks_that_disagree_are_found(other, options, target, said):
    assert judge("ranks_agree", [of_rank(), of_rank(1, states=other)], **options) == [
        ("fail", target, said)
    ]


@pytest.mark.parametrize(
    ("ranks", "options"),
    [
        ([of_rank(), of_rank(1, losses=(9.0,))], {}),
        ([of_rank(), of_rank(1, states=NOISE)], {"rtol": 1e-5}),
        ([of_rank(), of_rank(1, states=[state("fc.weight", grad="cc"), GOOD[1]])],
         {"at": "*.bias"}),
        ([of_rank(unreached=("fc.bias",)), of_rank(1, unreached=("fc.bias",))], {}),
    ],
)  # fmt: skip
def test_ranks_that_agree_are_not(ranks, options):
    assert [status for status, *_ in judge("ranks_agree", ranks, **options)] == ["pass"]


def test_a_parameter_that_some_ranks_use_is_a_warning():
    ranks = [of_rank(), of_rank(1, unreached=("fc.bias",))]
    found = judge_report(merge_reports(ranks), (CheckSpec("ranks_agree"),)).checks
    assert [(row.severity, row.target, row.message) for row in found] == [
        ("warning", "fc.bias", "the loss reaches fc.bias on some ranks, but not on 1")
    ]


def errors(*found):
    rows = [bucket(step=i, error=error) for i, error in enumerate(found)]
    return [of_rank(buckets=rows), of_rank(1, buckets=rows)]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ((0.0, 0.5), "differs from the exact average by 0.5 of its norm in bucket 0 of step 1"),
        ((0.2, 0.1), "by 0.2 of its norm in bucket 0 of step 0 (fc.weight, fc.bias), and 2 of 2"),
        (("nan", 0.0), "by nan of its norm in bucket 0 of step 0"),
        ((None, 0.0), "by inf of its norm in bucket 0 of step 0"),
    ],
)
def test_a_hook_that_is_far_from_the_average_is_found(found, said):
    ((status, _, sentence),) = judge("comm_hook_error", errors(*found))
    assert status == "fail"
    assert said in sentence


@pytest.mark.parametrize(
    ("found", "options"),
    [((0.0, 1e-8), {}), ((5e-4, 9e-3), {}), ((0.5, 0.7), {"limit": 0.8})],
)
def test_a_hook_that_is_near_it_is_not(found, options):
    ((status, _, _),) = judge("comm_hook_error", errors(*found), **options)
    assert status == "pass"


TWO = [bucket(index=0, names=("fc.weight",)), bucket(index=1, names=("fc.bias",), bytes=128)]


@pytest.mark.parametrize(
    ("rows", "options", "target", "said"),
    [
        ([bucket(names=("fc.weight",))], {}, "fc.bias",
         "no bucket contains fc.bias: their gradients are not averaged"),
        ([bucket(), bucket(index=1, names=("fc.bias",))], {}, "fc.bias",
         "several buckets of one step contain fc.bias"),
        (TWO, {"count": 1}, "", "a step has 2 buckets, which exceeds the limit of 1"),
        (TWO, {"bytes": 100}, "", "bucket 1 has 128 bytes, which exceeds the limit of 100"),
        (TWO, {"sent": 0.5}, "",
         "a step sends 1.00 of the bytes of plain all-reduce, which exceeds the limit of 0.5"),
    ],
)  # fmt: skip
def test_buckets_that_are_not_as_stated_are_found(rows, options, target, said):
    ranks = [of_rank(buckets=rows), of_rank(1, buckets=rows)]
    assert judge("buckets", ranks, **options) == [("fail", target, said)]


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (TWO, {"count": 2, "bytes": 128, "sent": 1}),
        ([bucket(names=("fc.weight",)), *(replace(row, step=1) for row in TWO)], {}),
        ([bucket(wire_bytes=16)], {"sent": 0.25}),
    ],
)
def test_buckets_that_are_as_stated_are_not(rows, options):
    ranks = [of_rank(buckets=rows), of_rank(1, buckets=rows)]
    assert [status for status, *_ in judge("buckets", ranks, **options)] == ["pass"]


@pytest.mark.parametrize("rule", ["ranks_agree", "comm_hook_error", "buckets"])
def test_one_rank_alone_has_nothing_to_be_judged(rule):
    found = judge_report(report("check"), (CheckSpec(rule),)).checks
    assert [row.status for row in found] == ["skip"]
    assert "--nproc 2" in found[0].message


def test_only_where_ranks_run_together_the_safe_set_asks_whether_they_agree():
    alone, together = ([one.rule for one in with_safe_set((), together=t)] for t in (False, True))
    assert set(together) - set(alone) == {"ranks_agree"}
    assert not CATALOGUE["ranks_agree"].safe
