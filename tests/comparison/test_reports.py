"""Two reports compared: their calls are given, with one number for each tensor."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from hookcli.comparison.compare import Settings, compare
from hookcli.comparison.diff import ExactDiff
from hookcli.comparison.tolerance import RTOL, Tolerances
from hookcli.report.events import EventRow
from hookcli.report.existing_hook import ExistingHook
from hookcli.report.findings import Measurement
from tests.comparison.reports import call, report, sketch
from tests.conftest import ROOT

SMALL = 1 + 1e-6  # within the limit of float32 for one call


def counts(found):
    return {status: number for status, number in asdict(found).items() if number}


def sentence(a, b):
    return compare(a, b).first.sentence


# What is counted


def test_equal_reports_are_the_same():
    one = report(call("a", (1,), (2,)), parameters=[("a.weight", 1, 1)], buffers=[("a.mean", 1)])
    found = compare(one, one)
    assert (found.verdict, found.reasons, found.first, found.first_inexact) == (
        "same",
        (),
        None,
        None,
    )
    assert [counts(part) for part in (found.calls, found.parameters, found.buffers)] == [
        {"same": 2}, {"same": 1}, {"same": 1},
    ]  # fmt: skip
    assert found.warnings == ()
    assert [item.status for item in found.output] == ["same"]


def test_rows_are_counted_by_status():
    a = report(
        call("a", (1,), (2,)), call("b", (2,), (3,)), call("c", (3,), (4,)), call("d", (), ())
    )
    b = report(call("a", (1,), (2 * SMALL,)), call("b", (9,), (9,)), call("e", (3,), (4,)),
               call("d", (), ()))  # fmt: skip
    found = compare(a, b)
    assert counts(found.calls) == {"same": 2, "close": 1, "different": 1, "only_a": 1, "only_b": 1}
    assert counts(found.parameters) == counts(found.buffers) == {}
    assert found.reasons == ("1 of 4 calls",)
    assert [(row.status, (row.a or row.b).name) for row in found.rows][-1] == ("only_b", "e")
    assert found.first_inexact.name == "a"


def test_reports_without_calls_have_no_output():
    empty, whole = report(root=None), report()
    for a, b in ((empty, whole), (whole, empty), (empty, empty)):
        assert compare(a, b).output == ()


def test_without_sketches_norms_are_compared_and_that_is_told():
    one = report(call("a", (1,), (2,)))
    bare = report(call("a", (1,), (2,)), sketches=False)
    for a, b in ((one, bare), (bare, one), (bare, bare)):
        found = compare(a, b)
        assert found.warnings == (
            "the reports contain no sketches of values: only shapes, dtypes, norms are compared",
        )
        assert counts(found.calls) == {"close": 2}
    twice = call("a", (1,), (2, 3))
    fewer = report(twice)
    value = {"order": 1, "inputs": [sketch(1)], "outputs": [sketch(9)]}  # of one output only
    fewer = replace(fewer, measurements=(Measurement("sketch", "", None, value, None),))
    (row,) = [row for row in compare(report(twice), fewer).rows if row.a.name == "a"]
    assert [item.how for item in (*row.inputs, *row.outputs)] == ["bits", "norm", "norm"]


def test_only_a_trace_may_pass_more_than_the_other_side():
    one = report(call("a", (1,), (2,)))
    traced = report(call("a", (1, 7), (2,)), format="torchscript")
    assert compare(one, traced).verdict == compare(traced, one).verdict == "same"
    assert compare(one, replace(traced, model=one.model)).verdict == "different"
    of_root = report(call("a", (1,), (2,)), root=((1.0, 7.0), (2.0,)), format="torchscript")
    assert compare(one, of_root).verdict == "different"  # nobody traces the call of the model


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        ({"parameters": [("w", 1, None)]}, {"parameters": [("w", 2, None)]}, "1 of 1 parameter"),
        ({"buffers": [("m", 1)]}, {"buffers": [("m", 2)]}, "1 of 1 buffer"),
        ({"parameters": [("w", 1, 1)]}, {"parameters": [("w", 1, 2)]}, "1 of 1 gradient"),
        ({"parameters": [("w", 1, 1)]}, {"parameters": [("w", 1, None)]}, "1 of 1 gradient"),
        ({"parameters": [("w", 1, None)]}, {"parameters": [("w", 1, 1)]}, "1 of 1 gradient"),
        ({"root": ((1,), (2,))}, {"root": ((1,), (3,))}, "1 of 1 call"),
    ],
)
def test_each_part_can_be_the_reason(a, b, reason):
    found = compare(report(**a), report(**b))
    assert (found.verdict, found.reasons) == ("different", (reason,))
    assert compare(report(**a), report(**a)).verdict == "same"
    if "root" not in a:
        first = found.first
        kind = "gradient" if "gradient" in reason else "parameter"
        assert (first.fault, first.a) == (kind, None)


def test_the_order_of_calls_is_a_reason():
    a = report(call("a", (1,), (2,)), call("b", (1,), (2,)))
    b = report(call("b", (1,), (2,)), call("a", (1,), (2,)))
    found = compare(a, b)
    assert found.reasons == ("the order of calls",)
    assert (found.order.a.name, found.order.b.name) == ("a", "b")


# What is paired


def test_shared_modules_are_paired_by_any_of_their_names():
    a = report(call("a", (1,), (2,), aliases=("b", "c")), call("x", (1,), (2,)))
    b = report(call("c", (1,), (3,), aliases=("d",)), call("x", (1,), (2,)))
    for ours, theirs in ((a, b), (b, a)):
        found = compare(ours, theirs)
        assert counts(found.calls) == {"same": 2, "different": 1}
    apart = report(call("b", (1,), (2,)), call("c", (1,), (9,)), call("x", (1,), (2,)))
    assert compare(a, apart).rows[1].b.name == "b"  # the first of its names
    # A name that is paired already is not taken again.
    both = report(call("c", (1,), (3,), aliases=("d",)), call("d", (1,), (2,)))
    other = report(call("c", (1,), (3,)), call("e", (1,), (9,), aliases=("c",)))
    assert counts(compare(both, other).calls) == {"same": 2, "only_a": 1, "only_b": 1}


def test_a_prefix_of_one_side_does_not_matter():
    names = [("fc", 1), ("head", 2), (None, 3)]
    a = report(*(call(name, (1,), (out,)) for name, out in names))
    b = report(*(call(name and f"model.{name}", (1,), (out,)) for name, out in names))
    for ours, theirs, side in ((a, b, "B"), (b, a, "A")):
        found = compare(ours, theirs)
        assert counts(found.calls) == {"same": 4}
        assert found.warnings == (
            f"names in {side} begin with 'model.', which the comparison ignores",
        )


def test_unregistered_modules_are_paired_by_type_and_number():
    a = report(*(call(None, (1,), (n,), type="Act") for n in (2, 3)), call(None, (1,), (4,)))
    b = report(*(call(None, (1,), (n,), type="Act") for n in (2, 3, 5)))
    assert counts(compare(a, b).calls) == {"same": 3, "only_a": 1, "only_b": 1}
    swapped = report(*(call(None, (1,), (n,), type="Act") for n in (3, 2)))
    assert counts(compare(b, swapped).calls) == {"same": 1, "different": 2, "only_a": 1}


# Where the first difference is


def test_the_call_whose_output_differs_first_is_the_fault():
    a = report(call("a", (1,), (2,)), call("a.in", (1,), (2,), parent=1), call("b", (2,), (3,)))
    b = report(call("a", (1,), (5,)), call("a.in", (1,), (5,), parent=1), call("b", (5,), (6,)))
    found = compare(a, b)
    assert [row.a.name for row in found.rows if row.fault] == ["a.in"]
    assert (found.first.fault, found.first.a.name) == ("output", "a.in")
    assert found.first.sentence.startswith("the inputs of a.in (Linear) agree, but its output")
    own = report(call("a", (1,), (5,)), call("a.in", (1,), (2,), parent=1), call("b", (5,), (6,)))
    found = compare(a, own)
    assert [row.a.name for row in found.rows if row.fault] == ["a"]
    assert "the cause is in its own code after a.in (Linear)" in found.first.sentence


def hook_on(module, kind):
    return ExistingHook(kind, module, None, (), "Linear", "net.half", "net.py:7", None)


def test_a_hook_that_only_one_model_has_is_named_as_the_cause():
    a = report(call("a", (1,), (2,)), call("a.in", (1,), (2,), parent=1), call("b", (2,), (3,)))
    b = report(call("a", (1,), (5,)), call("a.in", (1,), (2,), parent=1), call("b", (5,), (6,)))
    hooked = replace(b, existing_hooks=(hook_on("a", "forward"),))
    assert (
        ": the cause is the hook net.half at net.py:7 on it, which only B has, or in its own code"
        in compare(a, hooked).first.sentence
    )
    both = replace(a, existing_hooks=(hook_on("a", "forward"),))
    assert "the hook" not in compare(both, hooked).first.sentence
    elsewhere = replace(b, existing_hooks=(hook_on("b", "forward"), hook_on("a", "tensor")))
    assert "the hook" not in compare(a, elsewhere).first.sentence


def test_a_configured_hook_that_changed_a_value_is_named_as_the_cause():
    a = report(call("a", (1,), (2,)), call("b", (2,), (3,)))
    b = report(call("a", (1,), (5,)), call("b", (5,), (6,)))
    event = EventRow(0, 0, "forward", "forward", "a", 0, None, 0, changed=1.5)
    assert (
        "the configured hook on it, which only B has"
        in compare(a, replace(b, events=(event,))).first.sentence
    )
    observed = replace(b, events=(replace(event, changed=None),))
    assert "hook" not in compare(a, observed).first.sentence


def test_a_call_without_calls_in_it_has_no_own_code_between_them():
    assert "own code" not in sentence(report(root=((1,), (2,))), report(root=((1,), (3,))))
    a, b = (report(call("a", (1,), (out,)), call("b", (2,), (3,))) for out in (2, 5))
    assert "own code" not in sentence(a, b)


def test_of_several_tensors_the_largest_difference_is_told():
    a, b = report(call("a", (1,), (1, 1, 1))), report(call("a", (1,), (1.25, 2, 1.5)))
    first = compare(a, b).first
    assert first.relative == 1.0
    assert "its output differs by 1 of its norm" in first.sentence


def skipped(a, b):
    return compare(report(*a), report(*b)).first.skipped


def test_calls_without_a_counterpart_between_two_are_named_in_their_order():
    start, end = call("a", (1,), (2,)), call("z", (3,), (4,))
    other = call("z", (5,), (4,))
    x, y = call("x", (2,), (3,)), call("y", (2,), (3,))
    in_a = ("x (Linear) in A", "y (Linear) in A")
    in_b = ("x (Linear) in B", "y (Linear) in B")
    assert skipped([start, x, y, end], [start, other]) == in_a
    assert skipped([start, end], [start, x, y, other]) == in_b
    assert skipped([x, start, y, end], [x, start, other]) == in_a[1:]  # those after `a` only
    assert skipped([x, start, end], [start, y, other]) == in_b[1:]
    assert skipped([x, end], [y, other]) == ("x (Linear) in A", "y (Linear) in B")
    assert skipped([end, x], [other, y]) == ()
    within = call("x.in", (2,), (3,), parent=2)  # it ends before `x`
    assert skipped([start, x, within, end], [start, other]) == ("x.in (Linear) in A", in_a[0])
    y_in = call("y.in", (2,), (3,), parent=2)
    assert skipped([start, end], [start, y, y_in, other]) == (in_b[1], "y.in (Linear) in B")
    # What `a` calls is not in between, and what comes after `z` is not either.
    inner, after = call("a.x", (2,), (3,), parent=1), call("y", (2,), (3,))
    assert skipped([start, end], [start, inner, other, after]) == ()
    assert skipped([start, inner, end, after], [start, other]) == ()


def test_calls_at_the_end_of_a_call_whose_output_differs_are_named():
    a = [call("a", (1,), (2,)), call("a.in", (1,), (2,), parent=1)]
    b = [call("a", (1,), (9,)), call("a.in", (1,), (2,), parent=1)]
    x = call("a.x", (1,), (2,), parent=1)
    behind = call("y", (1,), (2,))
    assert skipped([*a, x], b) == ("a.x (Linear) in A",)
    assert skipped(a, [*b, x]) == ("a.x (Linear) in B",)
    assert skipped(a, [*b, x, behind]) == ("a.x (Linear) in B",)
    assert skipped(a, [*b, behind]) == ()


# How much may differ


def test_the_limits_are_those_of_the_documentation():
    page = Path(ROOT / "docs/commands/diff.md").read_text()
    names, values = re.search(r"^\| (float64 .*) \|\n\|[-|]+\|\n\| (.*) \|$", page, re.M).groups()
    told = dict(zip(names.split(" | "), values.split(" | "), strict=True))
    small, large = told.pop("float8 e4m3, e5m2").split(", ")
    expected = {name: float(value) for name, value in told.items()}
    expected |= {f"float8_e4m3{end}": float(small) for end in ("fn", "fnuz")}
    expected |= {f"float8_e5m2{end}": float(large) for end in ("", "fnuz")}
    pairs = (("complex128", "float64"), ("complex64", "float32"), ("complex32", "float16"))
    expected |= {name: expected[part] for name, part in pairs}
    assert {name: Tolerances().limit(None, name, 0) for name in RTOL} == expected
    assert Tolerances().limit(None, "int64", 5) == Tolerances().limit(None, None, 5) == 0


def test_the_limit_grows_with_the_calls_that_are_not_equal():
    def limits(*outputs):
        a = report(*(call(f"l{i}", (1,), (1,)) for i in range(len(outputs))))
        b = report(*(call(f"l{i}", (1,), (out,)) for i, out in enumerate(outputs)))
        rows = compare(a, b).rows
        return [(row.outputs[0].limit / 2e-6) ** 2 for row in (*rows[1:], rows[0])]

    assert limits(1, 1, 1) == pytest.approx([1, 1, 1, 1])
    assert limits(SMALL, 1, SMALL, 1) == pytest.approx([1, 2, 2, 3, 3])


def test_a_call_with_inner_calls_or_without_a_counterpart_adds_as_its_own_calls_do():
    a = report(call("a", (1,), (1,)), call("a.in", (1,), (1,), parent=1), call("b", (1,), (1,)))
    b = report(call("a", (1,), (SMALL,)), call("a.in", (1,), (SMALL,), parent=1),
               call("b", (1,), (1,)))  # fmt: skip
    assert (compare(a, b).rows[-1].outputs[0].limit / 2e-6) ** 2 == pytest.approx(2)
    alone = report(call("x", (1,), (1,)), call("b", (1,), (1,)))
    found = compare(alone, report(call("b", (1,), (1,))))
    assert (found.rows[2].outputs[0].limit / 2e-6) ** 2 == pytest.approx(2)
    none = report(call("x", (1,), ()), call("b", (1,), (1,)))
    assert (compare(none, none).rows[2].outputs[0].limit / 2e-6) ** 2 == pytest.approx(1)


def test_a_coarser_dtype_on_either_side_sets_the_limit_from_there_on():
    fine, coarse = call("a", (1,), (1,)), call("a", (1,), (1,), dtype="bfloat16")
    alone = call("x", (1,), (1,), dtype="bfloat16")
    after = call("b", (1,), (1,))
    for a, b, limit in (
        ([fine, after], [fine, after], 2e-6),
        ([coarse, after], [fine, after], 1e-2 * 2**0.5),  # the dtypes of `a` differ
        ([fine, after], [coarse, after], 1e-2 * 2**0.5),
        ([alone, after], [alone, after], 1e-2),
    ):
        assert compare(report(*a), report(*b)).rows[2].outputs[0].limit == pytest.approx(limit)
    found = compare(report(alone, after), report(after))
    assert found.rows[2].outputs[0].limit == pytest.approx(1e-2 * 2**0.5)


def graded(*gradients, dtype="float32", **more):
    rows = [(f"w{i}", 1, grad) for i, grad in enumerate(gradients)]
    return report(call("a", (1,), (1,)), parameters=rows, dtype=dtype, **more)


def test_a_gradient_that_is_zero_except_for_rounding_has_no_correct_digit():
    for sketches in (True, False):
        more = {"sketches": sketches}
        for a, b, verdict in (
            ((1, 1e-9), (1, 2e-9), "same"),
            ((1, 1e-9), (1, 1e-9 + 1e-6), "different"),
            ((1e-3, 1e-9), (1e-3, 2e-9), "different"),
            ((1, 1e-3), (1, 1e-3 * (1 + 3e-6)), "same"),
        ):
            assert compare(graded(*a, **more), graded(*b, **more)).verdict == verdict
    infinite = graded(float("inf"), 1.0, 1e-9), graded(float("inf"), 1.0, 2e-9)
    status = {row.a: row.gradient.status for row in compare(*infinite).state}
    assert (status["w1"], status["w2"]) == ("same", "close")


def test_a_gradient_may_differ_by_what_calls_may():
    for grad, verdict in ((1 + 1.9e-6, "same"), (1 + 2.1e-6, "different")):
        assert compare(graded(1.0), graded(grad)).verdict == verdict
    for grad, verdict in ((1 + 4.4e-6, "same"), (1 + 4.5e-6, "different")):  # √(1 + 2·2)
        other = report(call("a", (1,), (SMALL,)), call("b", (1,), (SMALL,)),
                       parameters=[("w0", 1, grad)])  # fmt: skip
        own = report(call("a", (1,), (1,)), call("b", (1,), (1,)), parameters=[("w0", 1, 1.0)])
        assert compare(own, other).verdict == verdict


def test_stored_values_have_no_rounding_errors_but_those_of_a_cast():
    one = report(parameters=[("w", 1, None), ("v", 1, None)])
    for value, verdict in ((1, "same"), (SMALL, "different")):
        assert (
            compare(one, report(parameters=[("w", value, None), ("v", 1, None)])).verdict == verdict
        )
    for value, verdict in ((1 + 1.9e-3, "same"), (1 + 2.1e-3, "different")):
        half = report(parameters=[("w", value, None), ("v", 1, None)], dtype="float16")
        found = compare(one, half)
        assert found.verdict == verdict
        assert found.warnings == (
            "parameters are float32 in A and float16 in B: differences of dtype are ignored",
        )


def test_exact_figures_replace_estimates():
    a, b = report(call("a", (1,), (2,))), report(call("a", (1,), (5,)))
    exact = {(1, "outputs"): (ExactDiff("[0]", "[0]", 2, 1, 0.5, 1e-7),), (1, "inputs"): ()}
    found = compare(a, b, Settings(exact=exact))
    assert found.verdict == "same"
    assert found.rows[1].outputs[0].how == "exact"
