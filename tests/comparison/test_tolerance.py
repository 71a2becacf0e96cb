"""What is more than rounding: the limits, and the verdict on a pair of tensors."""

from __future__ import annotations

import math

import pytest

from hookcli.comparison.diff import ExactDiff
from hookcli.comparison.matching import pair_tensors, traced_tensors
from hookcli.comparison.tolerance import (
    RTOL,
    TensorSummary,
    Tolerances,
    agrees,
    coarser,
    judge_tensors,
    lone,
    worst,
)


def summary(
    *projections, digest="a", norm=10.0, nonfinite="", dtype="float32", shape=(2,), path=""
):
    values = {
        "digest": digest, "projections": list(projections), "norm": norm, "nonfinite": nonfinite,
    }  # fmt: skip
    return TensorSummary(path, shape, dtype, values, norm)


def by_norm(norm, **more):
    return TensorSummary("", (2,), more.get("dtype", "float32"), None, norm)


def judged(first, other, limit=0.1, *, cast=False, **more):
    found = judge_tensors(first, other, limit, cast=cast, **more)
    return found.status, found.how, found.relative


def test_the_limit_grows_with_the_square_root_of_the_unequal_calls():
    none = Tolerances()
    assert none.limit("fc", "float32", 0) == RTOL["float32"] == 2e-6
    assert none.limit("fc", "float32", 3) == 2 * RTOL["float32"]
    assert none.limit("fc", "bfloat16", 8) == pytest.approx(3 * 1e-2)
    assert none.limit("fc", "int64", 8) == none.limit(None, None, 8) == 0.0


def test_the_last_glob_that_matches_applies():
    given = Tolerances((("*", 0.5), ("layer*", 0.25), ("layer1", 0.125)))
    limits = [given.limit(name, "float32", 9) for name in ("fc", "layer0", "layer1", "", None)]
    assert limits == [0.5, 0.25, 0.125, 0.5, 0.5]
    assert Tolerances((("a", 0.5),)).given_for("b") is None
    assert Tolerances((("A", 0.0),)).limit("A", "float32", 3) == 0.0


@pytest.mark.parametrize(
    ("first", "other", "expected"),
    [
        ("float32", "float16", "float16"), ("bfloat16", "float16", "bfloat16"),
        ("float32", "int64", "float32"), (None, "float64", "float64"), ("int64", None, None),
    ],
)  # fmt: skip
def test_the_coarser_dtype_is_the_one_that_rounds_more(first, other, expected):
    assert coarser(first, other) == coarser(other, first) == expected


def test_the_worst_status_and_what_agrees():
    order = ["same", "close", "unknown", "different"]
    rows = {status: lone(summary(1.0), None) for status in order}
    for status, row in rows.items():
        object.__setattr__(row, "status", status)
    for i, status in enumerate(order):
        assert worst(rows[one] for one in order[: i + 1]) == status
        assert agrees(status) is (status != "different")
    assert worst([]) is None
    assert agrees(None)


def test_a_tensor_of_one_side_only_is_a_difference_of_structure():
    one = summary(1.0, path="[0]", shape=(3,))
    left, right = lone(one, None), lone(None, one)
    assert (left.path, left.other_path, left.shapes, left.dtypes) == (
        "[0]", None, ((3,), None), ("float32", None),
    )  # fmt: skip
    assert (right.path, right.other_path, right.shapes, right.dtypes) == (
        None, "[0]", (None, (3,)), (None, "float32"),
    )  # fmt: skip
    assert left.status == right.status == "different"
    assert left.how == right.how == "structure"


def test_equal_digests_are_bitwise_equal():
    assert judged(summary(1.0, 2.0), summary(5.0, 6.0)) == ("same", "bits", 0.0)


@pytest.mark.parametrize(
    ("limit", "status"), [(0.5, "close"), (0.5000001, "close"), (0.4999999, "different")]
)
def test_the_relative_difference_is_the_root_mean_square_of_the_projections(limit, status):
    # differences 3, -4, 5, -10, so the mean square is (9 + 16 + 25 + 100) / 6 = 25 of 6 of them
    first, other = summary(*[0.0] * 6), summary(3, -4, 5, -10, 0, 0, digest="b")
    assert judged(first, other, limit) == (status, "sketch", 0.5)


def test_the_difference_is_relative_to_the_norm_of_a_or_to_a_least_norm():
    first, other = summary(1.0, norm=4.0), summary(2.0, digest="b", norm=1e9)
    assert judged(first, other)[2] == 0.25
    assert judged(summary(1.0, norm=0.5), other)[2] == 2.0
    assert judged(first, other, least=8.0)[2] == 0.125
    assert judged(first, other, least=2.0)[2] == 0.25
    assert judged(summary(1.0, norm=0.0), other) == ("different", "sketch", "inf")
    same = summary(1.0, digest="b", norm=0.0)
    assert judged(summary(1.0, norm=0.0), same) == ("close", "sketch", 0.0)


@pytest.mark.parametrize("value", ["nan", "inf", math.inf])
def test_what_cannot_be_measured_is_unknown(value):
    first = summary(1.0)
    assert judged(first, summary(value, digest="b")) == ("unknown", "sketch", None)
    assert judged(summary(1.0, norm=value), summary(2.0, digest="b")) == ("unknown", "sketch", None)


def test_other_places_of_nan_and_inf_are_a_difference():
    other = summary(1.0, digest="b", nonfinite="x")
    assert judged(summary(1.0), other) == ("different", "nonfinite", None)


def test_without_sketches_norms_are_compared():
    assert judged(by_norm(4.0), by_norm(4.0)) == ("close", "norm", 0.0)
    assert judged(by_norm(4.0), by_norm(3.0), 0.25) == ("close", "norm", 0.25)
    assert judged(by_norm(4.0), by_norm(5.5), 0.25) == ("different", "norm", 0.375)
    assert judged(by_norm("inf"), by_norm(4.0)) == ("different", "nonfinite", None)
    assert judged(by_norm(4.0), by_norm("nan")) == ("different", "nonfinite", None)
    assert judged(by_norm("inf"), by_norm("nan")) == ("unknown", "norm", None)
    assert judged(by_norm("inf"), by_norm("inf")) == ("close", "norm", 0.0)
    assert judged(by_norm(None), by_norm(4.0)) == ("unknown", None, None)
    assert judged(by_norm(4.0), by_norm(None)) == ("unknown", None, None)


def test_sketches_of_different_lengths_cannot_be_compared():
    first = summary(1.0, norm=4.0)
    assert judged(first, summary(1.0, 2.0, norm=4.0)) == ("close", "norm", 0.0)
    assert judged(summary(norm=4.0), summary(norm=4.0)) == ("close", "norm", 0.0)
    assert judged(first, by_norm(2.0)) == judged(by_norm(4.0), summary(1.0, norm=2.0))
    assert judged(first, by_norm(2.0)) == ("different", "norm", 0.5)


def test_shapes_and_dtypes_come_before_values():
    first = summary(1.0)
    assert judged(first, summary(1.0, shape=(3,))) == ("different", "shape", None)
    assert judged(first, summary(1.0, shape=(3,)), cast=True) == ("different", "shape", None)
    assert judged(first, summary(1.0, dtype="float16")) == ("different", "dtype", 0.0)
    assert judged(first, summary(1.0, dtype="float16"), cast=True) == ("same", "bits", 0.0)
    far = summary(50.0, digest="b", dtype="float16")
    assert judged(first, far) == ("different", "sketch", 4.9)  # the larger difference is told
    found = judge_tensors(
        first, summary(1.0, shape=(3,), dtype="float16", path="x"), 0.1, cast=True
    )
    assert (found.path, found.other_path, found.shapes, found.dtypes, found.limit) == (
        "", "x", ((2,), (3,)), ("float32", "float16"), 0.1,
    )  # fmt: skip


def exact(relative, differ):
    return ExactDiff("", "", numel=4, differ=differ, max_abs=1.0, relative=relative)


def test_exact_figures_come_before_estimates():
    first, far = summary(1.0), summary(50.0, digest="b")
    assert judged(first, far, exact=exact(0.0, 0)) == ("same", "bits", 0.0)
    assert judged(first, far, exact=exact(0.1, 2)) == ("close", "exact", 0.1)
    assert judged(first, far, exact=exact(0.11, 1)) == ("different", "exact", 0.11)
    assert judged(first, first, exact=exact("inf", 1)) == ("different", "exact", "inf")
    assert judged(first, first, exact=exact("nan", 1)) == ("different", "exact", "nan")
    half = summary(1.0, dtype="float16")
    assert judged(first, half, exact=exact(0.0, 0), cast=True) == ("close", "exact", 0.0)


# Which tensors go together


def named(*pairs):
    return [summary(1.0, path=path, digest=digest) for path, digest in pairs]


def paths(pairs):
    return [(a and a.path, b and b.path) for a, b in pairs]


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ([("0", "x"), ("1", "y")], [("1", "p"), ("0", "q")], [("0", "0"), ("1", "1")]),
        ([("a", "x"), ("b", "y")], [("0", "y"), ("1", "x")], [("a", "1"), ("b", "0")]),
        ([("a", "x"), ("b", "y")], [("0", "y"), ("1", "z")], [("a", "0"), ("b", "1")]),
        ([("a", "x")], [("0", "x"), ("1", "z")], [("a", "0"), (None, "1")]),
        ([("a", "x"), ("b", "y")], [("0", "p")], [("a", "0"), ("b", None)]),
        ([], [("0", "p")], [(None, "0")]),
        ([], [], []),
        ([("a", "x"), ("b", "x")], [("0", "x"), ("1", "x")], [("a", "0"), ("b", "1")]),
        ([("a", None)], [("b", None)], [("a", "b")]),
    ],
)  # fmt: skip
def test_tensors_pair_by_path_else_by_content_else_by_position(ours, theirs, expected):
    assert paths(pair_tensors(named(*ours), named(*theirs))) == expected


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ("ab", "abc", ("ab", "ab")),  # a trace passes more
        ("abc", "ca", ("ac", "ac")),
        ("abd", "abc", ("abd", "abc")),  # each has one that the other lacks
        ("a", "b", ("a", "b")),
        ("", "a", ("", "")),  # nobody uses it
        ("a", "aaa", ("a", "a")),  # each at most once
    ],
)
def test_of_a_trace_the_tensors_that_both_have_are_compared(ours, theirs, expected):
    found = traced_tensors(
        named(*((one, one) for one in ours)), named(*((one, one) for one in theirs))
    )
    assert tuple("".join(one.path for one in side) for side in found) == expected
