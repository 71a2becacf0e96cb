"""Figures of whole tensors from those of pieces, and which ranks part: against plain PyTorch."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch

from hookcli.engine.statistics.statistics import statistics
from hookcli.formats.training.facts import observed, ranks_of
from hookcli.formats.training.joined import meshes
from hookcli.report.distributed import JoinedRanks, LocalPart, MeshPlace, PartGroup, StepDigests
from hookcli.report.ranks.join_trainings import join_trainings
from hookcli.report.ranks.partings import compare_ranks
from hookcli.report.ranks.pieces import pieces, whole_statistics
from hookcli.report.ranks.spans import spans_of
from hookcli.report.ranks.whole_parameters import whole_row
from hookcli.report.report import ParameterRow
from hookcli.report.rows.events import figures
from tests.formats import training_reports as built

MESH = ("replicate", "shard")


def place(rank: int, sizes=(2, 2), names=MESH) -> MeshPlace:
    at = (rank // sizes[1], rank % sizes[1]) if len(sizes) == 2 else (rank,)
    return MeshPlace(names[: len(sizes)], sizes, at, f"0-{math.prod(sizes) - 1}")


def row(piece: torch.Tensor, rank: int, placements, shape, *, grad=None, **mesh) -> ParameterRow:
    grad = 2 * piece if grad is None else grad
    return ParameterRow(
        name="w", module_type="Linear", shape=shape, dtype="float32", numel=math.prod(shape),
        requires_grad=True, stats=figures(statistics(piece)), grad=figures(statistics(grad)),
        steps=({"step": 0, "grad": figures(statistics(grad)), "status": "ok"},), status="ok",
        placements=placements, mesh=place(rank, **mesh), local=LocalPart(tuple(piece.shape)),
        whole=False,
    )  # fmt: skip


def is_near(ours: dict, true: dict) -> bool:
    return {
        name: value if isinstance(value, str) or value is None else pytest.approx(value, rel=1e-6)
        for name, value in true.items()
    } == ours


def test_spans():
    assert [spans_of(ranks) for ranks in ([], [3], [0, 1, 2], [0, 1, 4, 6, 7])] == [
        "", "3", "0-2", "0-1,4,6-7",
    ]  # fmt: skip


@pytest.mark.parametrize("size", [1, 3, 5, 8])
@pytest.mark.parametrize("special", [None, math.nan, math.inf])
def test_pieces_of_a_tensor_have_the_statistics_of_the_whole(size, special):
    torch.manual_seed(size)
    tensor = torch.randn(size, 4)
    tensor[0, 1] = 0.0
    if special is not None:
        tensor[-1, -1] = special
    parts = [*tensor.chunk(4), *[tensor[:0]] * (4 - len(tensor.chunk(4)))]  # as Shard(0) does
    whole = whole_statistics([figures(statistics(part)) for part in parts])
    true = figures(statistics(tensor))
    true.pop("finite", None), whole.pop("finite", None)
    assert is_near(whole, true)


def test_copies_count_once_and_shards_add():
    tensor = torch.randn(3, 4)
    shards = tensor.chunk(2)
    rows = {
        rank: row(shards[rank % 2], rank, ("Replicate", "Shard(0)"), (3, 4)) for rank in range(4)
    }
    joined, parts = whole_row(rows[0], {rank: rows[rank] for rank in (1, 2, 3)}, 0)
    assert parts.ranks == {(0,): [0, 2], (1,): [1, 3]}
    assert joined.whole
    assert is_near(joined.stats, figures(statistics(tensor)))
    assert is_near(joined.grad, figures(statistics(2 * tensor)))
    assert is_near(joined.steps[0]["grad"], figures(statistics(2 * tensor)))
    assert joined.grad_to_weight == pytest.approx(2.0)
    assert joined.local == LocalPart((2, 4), rows[0].stats, rows[0].grad)


def test_two_dimensions_that_shard_have_four_pieces():
    found = pieces(("StridedShard(0)", "Shard(0)"), {rank: place(rank) for rank in range(3)})
    assert found.ranks == {(0, 0): [0], (0, 1): [1], (1, 0): [2]}
    assert found.absent == ((1, 1),)


def test_without_a_piece_and_with_another_mesh_figures_stay_those_of_the_part():
    tensor = torch.randn(4, 2)
    sizes = {"sizes": (2,), "names": ("dp",)}
    first, second = (
        row(p, r, ("Shard(0)",), (4, 2), **sizes) for r, p in enumerate(tensor.chunk(2))
    )
    assert whole_row(first, {}, 0) == (first, None)
    other = dataclasses.replace(second, mesh=dataclasses.replace(second.mesh, ranks="1,3"))
    assert whole_row(first, {1: other}, 0) == (first, None)
    plain = dataclasses.replace(first, placements=None, mesh=None, local=None, whole=None)
    assert whole_row(plain, {1: plain}, 0) == (plain, None)


def test_a_partial_gradient_is_not_known():
    sizes = {"sizes": (2,), "names": ("tp",)}
    rows = [
        dataclasses.replace(
            row(torch.ones(3), rank, ("Replicate",), (3,), **sizes),
            grad_placements=("Partial(sum)",),
        )
        for rank in range(2)
    ]
    joined, _ = whole_row(rows[0], {1: rows[1]}, 0)
    assert (joined.whole, joined.grad, joined.steps[0]["grad"]) == (True, None, None)
    assert joined.stats["norm"] == pytest.approx(math.sqrt(3))


# Which ranks part.


FIRST, SECOND = (row.name for row in built.record(total=4).parameters[:2])


def ranks(*moments, names=(FIRST, SECOND), turns=(1, 1), each=None, **more):
    """Records of ranks whose digests at moments are the letters of strings."""
    found = {}
    for rank, letters in enumerate(moments):
        digests = StepDigests(
            names=names,
            turns=turns,
            moments=dict(enumerate(letters)),
            each=dict(enumerate(each[rank])) if each else {},
        )
        record = built.record(total=4)
        training = dataclasses.replace(
            record.training, step_digests=digests, **{k: v[rank] for k, v in more.items()}
        )
        found[rank] = dataclasses.replace(record, training=training)
    return found


def parted(*moments, **more):
    joined = JoinedRanks("0-1", len(moments))
    return compare_ranks(ranks(*moments, **more), joined)[0]


def test_equal_ranks_do_not_part():
    assert parted("abcdefg", "abcdefg") == []


def test_the_first_moment_that_differs_to_the_end_is_told():
    (one,) = parted("abcdefg", "abcdeXY")
    assert (one.rank, one.other, one.step, one.before, one.again) == (1, 0, 2, False, None)
    (one,) = parted("abcdefg", "abcdXfY")  # after a step few elements are read
    assert (one.step, one.before, one.again) == (2, True, None)


def test_of_three_ranks_the_odd_one_is_told():
    (one,) = parted("abX", "abc", "abc")
    assert (one.rank, one.other, one.step, one.before) == (0, 1, 1, True)


def test_ranks_that_agree_again_are_told_so():
    (one,) = parted("aXcXeXg", "abcdefg")  # averaged after each step
    assert (one.step, one.before, one.again) == (0, False, 1)


def test_the_first_parameter_is_named():
    a, b, c = "0" * 8, "1" * 8, "2" * 8
    (one,) = parted("ab", "aX", each=([a + b, a + b], [a + b, a + c]))
    assert (one.target, one.value, one.of_other, one.apart, one.copies) == (SECOND, c, b, 1, 2)


def test_a_large_parameter_whose_other_parts_agree_stays_different():
    a, b, c = "0" * 8, "1" * 8, "2" * 8
    each = [[a + b] * 7, [a + b, a + b, a + c, *[a + b] * 4]]
    (one,) = parted("abcdefg", "abXdefg", each=each, turns=(1, 4))
    assert (one.target, one.step, one.again) == (SECOND, 1, None)


def test_joining_one_report_changes_no_figure():
    training = built.training(built.record(total=4))
    joined = join_trainings([training])
    assert joined.records[0].parameters == training.records[0].parameters
    assert joined.records[0].training.steps == training.records[0].training.steps


def rows_of(*forwards):
    """Steps with these numbers of forwards."""
    return tuple(
        dataclasses.replace(row, step=i, forwards=count)
        for i, (row, count) in enumerate(
            zip(built.record(total=len(forwards)).training.steps, forwards, strict=True)
        )
    )


def test_a_rank_that_leaves_out_a_step_runs_the_model_as_often():
    uneven = {"total": (4, 3), "steps": (rows_of(1, 1, 1, 1), rows_of(1, 2, 1))}
    first, last = parted("abcdef", "abcdef", **uneven)
    assert (first.what, first.rank, first.step, first.value) == ("forwards", 1, 1, 2)
    assert (last.what, last.rank, last.value, last.of_other) == ("steps", 1, 3, 4)
    uneven["steps"] = (rows_of(1, 1, 1, 1), rows_of(1, 1, 1))  # it has fewer batches
    assert parted("abcdef", "abcdef", **uneven) == []


def test_options_and_types_of_optimizers_are_compared():
    optimizer = built.record().training.optimizer
    other = dataclasses.replace(optimizer, options={**optimizer.options, "rho": 0.5, "lr": 9.0})
    (one,) = parted("ab", "ab", optimizer=(optimizer, other))
    assert (one.what, one.target, one.value, one.step) == ("options", "rho", 0.5, None)
    assert one.of_other == optimizer.options.get("rho")
    other = dataclasses.replace(optimizer, type="Adam")
    (one,) = parted("ab", "ab", optimizer=(optimizer, other))
    assert (one.target, one.value, one.of_other) == ("type", "Adam", optimizer.type)
    fused = dataclasses.replace(optimizer, options={**optimizer.options, "fused": True, "lr": 9.0})
    assert parted("ab", "ab", optimizer=(optimizer, fused)) == []


def test_a_parameter_that_one_rank_has_in_addition_is_named():
    a, b = "0" * 8, "1" * 8
    both = ranks("ab", "ab", each=([a + b], [a + b]))
    digests = both[0].training.step_digests
    fewer = dataclasses.replace(digests, names=(FIRST,), each={0: a})

    def without_second(**more):
        training = dataclasses.replace(both[0].training, step_digests=fewer, **more)
        rows = tuple(row for row in both[0].parameters if row.name != SECOND)
        return {0: dataclasses.replace(both[0], training=training, parameters=rows), 1: both[1]}

    joined = JoinedRanks("0-1", 2)
    (one,) = compare_ranks(without_second(), joined)[0]
    assert (one.what, one.rank, one.target, one.value) == ("optimizer", 1, SECOND, True)
    fewer = dataclasses.replace(fewer, each={0: b})  # other layers of the same names
    assert {one.what for one in compare_ranks(without_second(), joined)[0]} == {"parameters"}


def of_rank(rank: int, **script):
    """The report of one of two ranks."""
    training = built.training(built.record(total=4))
    tracking = dataclasses.replace(training.tracking, rank=rank, world_size=2)
    ended = dataclasses.replace(training.script, **script)
    return dataclasses.replace(training, tracking=tracking, script=ended)


def test_how_another_rank_ended_is_told():
    killed = of_rank(1, ended="signal", error="SIGKILL")
    assert (
        join_trainings([of_rank(0), killed]).warnings[-1] == "rank 1 ended by SIGKILL after 4 steps"
    )
    raised = of_rank(1, ended="exception", error="ValueError: " + "x" * 500)
    note = join_trainings([of_rank(0), raised]).warnings[-1]
    assert note.startswith("rank 1 ended with ValueError: xxx") and note.endswith(
        "x… after 4 steps"
    )
    assert join_trainings([of_rank(0), of_rank(1)]).warnings == ()


def test_the_ranks_of_a_joined_report_are_told_instead_of_the_first():
    assert ranks_of(of_rank(1)) == ("rank", "1 of 2")
    assert ranks_of(join_trainings([of_rank(1)])) == ("rank", "1 of 2")
    both = join_trainings([of_rank(0), of_rank(1)])
    assert ranks_of(both) == ("ranks", "0-1 of 2")
    assert "4 steps in detail" in observed(both) and ", ranks 0-1 of 2" in observed(both)


def test_a_mesh_without_names_is_told_by_sizes():
    names = ("dim 0", "tp")
    group = PartGroup(("Shard(0)",), MeshPlace(names, (2, 4), (0, 0), "0-7"), 3)
    info = dataclasses.replace(built.record().training, groups=(group,))
    assert meshes(info) == ["dim 0 of size 2 × tp 4"]
