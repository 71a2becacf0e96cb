"""What `ranks_agree` says of the ranks of a training that were joined."""

from __future__ import annotations

import dataclasses

import pytest

from hookcli.report.distributed import JoinedRanks, MeshPlace, PartGroup, RankParting
from hookcli.rules.catalogue import CATALOGUE
from tests.formats import training_reports as built

SPLIT = (PartGroup(("Shard(0)",), MeshPlace(("tp",), (2,), (0,), "0-1"), 2),)


def judged(*partings, compared=2, averaged=None, wrappers=(), groups=None, kind="Net"):
    """The findings on a record of two ranks."""
    record = built.record(total=4)
    training = dataclasses.replace(
        record.training,
        joined=JoinedRanks("0-1", 2, None, 4, compared, averaged),
        partings=partings,
        wrappers=wrappers,
        groups=groups,
        root_type=kind,
    )
    record = dataclasses.replace(record, training=training)
    return list(CATALOGUE["ranks_agree"].judge(record, {"at": "*", "rtol": None}))


def apart(what="parameters", step=2, value=None, other=None, **more):
    return RankParting(what, 1, 0, step, more.pop("target", ""), value, other, **more)


def test_ranks_that_agree_pass():
    (row,) = judged()
    assert (row.status, row.message) == (
        "pass",
        "the parameters of 2 ranks are the same after 4 steps",
    )
    (row,) = judged(compared=0)
    assert (row.status, row.message) == (
        "skip",
        "the parameters of several ranks were not compared",
    )


def test_what_was_compared_of_sharded_parameters_is_told():
    (row,) = judged(compared=0, groups=SPLIT)
    message = (
        "ranks have parts of parameters, and no copies: learning rates and steps were compared"
    )
    assert (row.status, row.message) == ("skip", message)


@pytest.mark.parametrize(
    ("averaged", "wrappers", "end", "severity"),
    [
        (True, (), "", "error"),
        (None, ("DistributedDataParallel",), "", "error"),
        (False, ("DistributedDataParallel",), "", "error"),
        (False, (), ": nothing averages their gradients", "warning"),
        (None, (), "", "warning"),
    ],
)
def test_nothing_averages_is_said_only_if_it_is_so(averaged, wrappers, end, severity):
    (row,) = judged(apart(target="w"), averaged=averaged, wrappers=wrappers)
    message = "the parameters of rank 1 differ from those of rank 0 after step 2, first w"
    assert (row.message, row.severity, row.step) == (message + end, severity, 2)


def test_the_cause_is_told_before_what_follows():
    rate = apart("learning rate", 2, 0.2, 0.1)
    (row,) = judged(apart(), rate, apart("gradients", 3, 1.0, 2.0), averaged=True)
    message = "rank 1 has the learning rate 0.2 at step 2, and rank 0 0.1; its parameters differ"
    assert row.message == f"{message} after step 2"
    (row,) = judged(apart(before=True, target="w"), rate, averaged=True)
    assert row.message.endswith("before step 2, first w")
    (row,) = judged(apart(step=3), apart("forwards", 2, 2, 1), averaged=True)
    message = "rank 1 has 2 forwards in step 2, and rank 0 1: it skipped a step"
    assert row.message == f"{message}; its parameters differ after step 3"


def test_a_step_that_was_left_out_counts_where_parameters_are_sharded():
    steps = apart("steps", 9, 9, 10)
    (row,) = judged(apart("forwards", 5, 2, 1), steps, compared=0, groups=SPLIT, kind="FSDPNet")
    message = "rank 1 has 2 forwards in step 5, and rank 0 1: it skipped a step"
    assert (row.status, row.message, row.step) == ("fail", message, 5)


def test_an_option_is_told_in_place_of_what_follows():
    betas = apart("options", None, 0.95, 0.999, target="betas[1]")
    (row,) = judged(betas, apart(step=0), averaged=True)
    message = "the optimizer of rank 1 has betas[1] 0.95, and that of rank 0 0.999"
    assert (row.message, row.step) == (f"{message}; its parameters differ after step 0", 0)
    (row,) = judged(betas, compared=0, groups=SPLIT, kind="FSDPNet")
    assert (row.status, row.message, row.step) == ("fail", message, None)
    assert judged(betas)[0].status == "pass"  # parameters are the same nevertheless
    (row,) = judged(betas, apart(before=True, target="w"), averaged=True)
    assert row.message.startswith("the parameters of rank 1 differ")
    kind = apart("options", None, "Adam", "SGD", target="type")
    (row,) = judged(kind, apart(target="w"), averaged=True)
    assert row.message == (
        "the optimizer of rank 1 is of type Adam, and that of rank 0 SGD; its parameters differ "
        "after step 2, first w"
    )


def test_what_does_not_change_parameters_is_no_finding():
    for one in (
        apart("learning rate", 2, 0.2, 0.1),
        apart("gradients", 2, 1.0, 2.0),
        apart("forwards", 2, 2, 1),
        apart("losses", 3, 1.0, 2.0),
    ):
        assert [row.status for row in judged(one)] == ["pass"], one
    (row,) = judged(apart("learning rate", 2, 0.2, 0.1), compared=0, groups=SPLIT, kind="FSDPNet")
    assert (row.status, row.severity) == ("fail", "error")
    (row,) = judged(apart("losses", 3, 1.0, 2.0), groups=SPLIT)
    assert row.message == "the loss of rank 1 is 1 at step 3, and that of rank 0 2"
    assert judged(apart("losses", 3, 1.0, 2.0), groups=SPLIT, kind="FSDPNet")[0].status == "pass"


def test_modes_and_optimizers_are_told_by_themselves():
    (row,) = judged(apart("modes", 1, "eval", "train"))
    message = (
        "rank 1 runs dropout or batch normalization in eval mode at step 1, and rank 0 in train"
    )
    assert (row.message, row.severity) == (f"{message} mode", "warning")
    (row,) = judged(apart("optimizer", 0, value=False, other=True, target="w"))
    assert row.message == "the optimizer of rank 0 has w, and that of rank 1 does not"
    (row,) = judged(apart("steps", 2, 2, 9))
    assert row.message == "rank 1 makes no step from step 2 on, and rank 0 makes 9 steps"


def test_parameters_that_are_averaged_later_and_own_ones_are_no_fault():
    (row,) = judged(apart(step=0, again=4))
    assert row.message == (
        "the parameters of 2 ranks differ after step 0 and are the same again after step 4"
    )
    own = apart(step=0, target="experts.w", apart=1, copies=3)
    (row,) = judged(own, averaged=False)
    assert (row.status, row.message) == (
        "pass",
        "experts.w never was the same on 2 ranks, others are",
    )
    assert judged(own, averaged=True)[0].status == "fail"  # other weights from the start
    assert judged(own, averaged=False, groups=SPLIT)[0].advice.startswith("add its module to the")
