"""The rows of a comparison of two reports: every field, the order of rows, and what is told."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import jsonschema
import pytest

from hookcli.comparison.compare import Settings, compare
from hookcli.comparison.diff import (
    CallDiff,
    CallRef,
    ExactDiff,
    OrderDiff,
    SideInfo,
    StateDiff,
    TensorDiff,
    exact_diff,
)
from hookcli.comparison.schema import diff_schema
from hookcli.comparison.walk import moments
from hookcli.report.findings import Measurement
from hookcli.report.report import UncalledRow
from tests.comparison.reports import call, report

F32 = 2e-6  # the limit of float32 for one call


def tensor(relative, how, status, limit=F32, *, path="[0]", other=None):
    """The difference of two tensors of float32 with two elements."""
    other = path if other is None else other
    dtypes = ("float32", "float32")
    return TensorDiff(path, other, ((2,), (2,)), dtypes, relative, limit, how, status)


def ref(order, name="a", number=0):
    return CallRef(order, name, number, "Linear" if name else "Net", f"train.py:{10 + order}")


def with_model(given, **fields):
    return replace(given, model=replace(given.model, **fields))


# Calls


def test_a_call_ends_after_those_inside_it():
    inner = [call(f"a.{name}", (), (), parent=1) for name in "xy"]
    found = moments(report(call("a", (), ()), *inner, call("b", (), ())).layers)
    assert [(moment.kind, moment.row.name) for moment in found] == [
        ("enter", ""), ("enter", "a"),
        ("enter", "a.x"), ("leave", "a.x"), ("enter", "a.y"), ("leave", "a.y"),
        ("leave", "a"), ("enter", "b"), ("leave", "b"), ("leave", ""),
    ]  # fmt: skip


def test_a_row_has_both_calls_and_a_verdict_on_each_tensor():
    a = report(call("a", (1,), (2,)), call("x", (1,), (2,)))
    b = report(call("y", (1,), (2,)), call("a", (1,), (3,)))
    found = compare(a, b)
    same, differs = tensor(0.0, "bits", "same"), tensor(0.5, "sketch", "different")
    later = tensor(0.0, "bits", "same", F32 * 3**0.5)  # after `a` and `x`
    assert found.rows == (
        CallDiff(ref(0, ""), ref(0, ""), "same", "same", "same", False, (same,), (later,)),
        CallDiff(ref(1), ref(2), "different", "same", "different", True, (same,), (differs,)),
        CallDiff(ref(2, "x"), None, "only_a", None, None, False),
        CallDiff(None, ref(1, "y"), "only_b", None, None, False),
    )
    assert (found.first.a, found.first.b, found.first.within) == (ref(1), ref(2), None)
    assert (found.first.relative, found.first.limit) == (0.5, F32)
    assert (found.first.skipped, found.first.inputs, found.first.outputs) == ((), None, None)
    jsonschema.validate(json.loads(json.dumps(asdict(found))), diff_schema())


def test_recomputed_calls_go_together():
    """Backward runs a layer again under activation checkpointing."""
    again = call("a", (1,), (3,), recomputed=True)
    a, b = report(call("a", (1,), (2,)), again), report(again, call("a", (1,), (2,)))
    found = compare(a, b)
    assert (found.calls.same, found.calls.different, found.calls.only_a) == (3, 0, 0)
    assert found.order == OrderDiff(ref(1), replace(ref(1)))


def test_names_of_modules_that_never_ran_show_the_prefix():
    def of(*names):
        return replace(
            report(), uncalled=tuple(UncalledRow(name, "Linear", None) for name in names)
        )

    names = compare(of("a", "b"), of("model.a", "model.b")).names
    assert (names.prefix_a, names.prefix_b) == ("", "model")


def test_the_model_and_the_run_of_each_side_are_told():
    a = with_model(report(call("a", (1,), (2,))), source="a.py", type="Old", parameters=7)
    b = with_model(report(), source="b.pt2", type=None, parameters=None)
    b = replace(b, environment=replace(b.environment, torch="2.13"), run=replace(b.run, seed=3))
    found = compare(a, b)
    assert found.a == SideInfo("a.py", "Old", 7, 2, a.run, a.environment)
    assert found.b == SideInfo("b.pt2", None, None, 1, b.run, b.environment)
    assert (found.environment, found.inputs) == (a.environment, a.inputs)
    assert found.verdict == "same"  # the number of B's parameters is not known
    assert compare(b, a).verdict == "same"


def test_the_weights_that_b_was_given_are_told():
    value = {
        "loaded": 3, "differed": ["a.weight"], "only_a": ["c"], "only_b": ["d", "e"],
        "misfits": [{"name": "b.weight", "a_shape": [2, 3], "b_shape": [3]}],
    }  # fmt: skip
    measured = Measurement("weights", "", None, {**value, "dtypes": ["float32"]}, None)
    given = replace(report(), measurements=(measured,))
    assert compare(report(), given).weights == value
    assert compare(given, report()).weights is None


def test_a_sketch_that_could_not_be_made_is_none():
    lost = replace(report(), measurements=(Measurement("sketch", "", None, None, "why"),))
    assert compare(lost, report()).rows[0].outputs == (tensor(0.0, "norm", "close"),)


# Parameters, buffers and gradients


def test_each_parameter_and_buffer_has_a_row_and_those_of_b_alone_are_last():
    a = report(parameters=[("w", 1, 2), ("v", 1, 2), ("p", 1, None)], buffers=[("m", 1), ("n", 2)])
    b = report(parameters=[("q", 1, None), ("v", 1, None), ("w", 1, 3)], buffers=[("n", 3)])
    found = compare(a, b)
    gone = TensorDiff(
        "v", None, ((2,), None), ("float32", None), None, None, "structure", "different"
    )
    same = {name: tensor(0.0, "bits", "same", 0.0, path=name) for name in ("w", "v")}
    assert found.state == (
        StateDiff("parameter", "w", "w", "different", same["w"],
                  tensor(0.5, "sketch", "different", path="w")),
        StateDiff("parameter", "v", "v", "different", same["v"], gone),
        StateDiff("parameter", "p", None, "only_a"),
        StateDiff("parameter", None, "q", "only_b"),
        StateDiff("buffer", "m", None, "only_a"),
        StateDiff("buffer", "n", "n", "different",
                  tensor(0.5, "sketch", "different", 0.0, path="n")),
    )  # fmt: skip
    counts = asdict(found.parameters)
    assert {key: n for key, n in counts.items() if n} == {"different": 2, "only_a": 1, "only_b": 1}
    assert {key: n for key, n in asdict(found.buffers).items() if n} == {
        "different": 1,
        "only_a": 1,
    }
    assert found.reasons == ("1 of 1 buffer", "2 of 2 gradients")
    turned = compare(b, a)
    assert next(row for row in turned.state if row.a == "v").gradient.how == "structure"


def test_the_most_important_reason_is_first():
    a = report(call("a", (1,), (2,)), call("b", (1,), (2,)), call("x", (1,), (2,)),
               parameters=[("w", 1, 1), ("v", 1, 1)], buffers=[("m", 1), ("n", 1)])  # fmt: skip
    b = report(call("b", (1,), (3,)), call("a", (1,), (2,)),
               parameters=[("w", 2, 1), ("v", 1, 2)], buffers=[("m", 2), ("n", 1)])  # fmt: skip
    found = compare(with_model(a, parameters=1200), with_model(b, parameters=7))
    assert found.reasons == (
        "1 of 3 calls",
        "1 of 2 parameters",
        "1 of 2 buffers",
        "1 of 2 gradients",
        "1,200 parameters in A and 7 in B",
        "the order of calls",
    )


@pytest.mark.parametrize("sketches", [True, False])
@pytest.mark.parametrize("largest", [1.0, -4.0])
@pytest.mark.parametrize(("times", "verdict"), [(0.99, "same"), (1.01, "different")])
def test_a_gradient_may_differ_by_rounding_of_a_tenth_of_the_largest(
    times, verdict, largest, sketches
):
    a, small = (
        report(parameters=[("w", 1, largest), ("v", 1, grad)], sketches=sketches)
        for grad in (0.0, 1e-9)
    )
    limit = 0.1 * abs(largest) * compare(a, small).state[1].gradient.limit
    b = report(parameters=[("w", 1, largest), ("v", 1, limit * times)], sketches=sketches)
    assert compare(a, b).verdict == verdict


def test_the_size_of_gradients_is_that_of_a():
    a, b = (report(parameters=[("w", 1, w), ("v", 1, v)]) for w, v in ((1.0, 0.0), (1e3, 1e-5)))
    assert [row.gradient.status for row in compare(a, b).state] == ["different", "different"]
    assert [row.gradient.status for row in compare(b, a).state] == ["different", "close"]


def test_a_gradient_whose_norm_is_not_known_says_nothing_about_the_size_of_others():
    def of(grad):
        made = report(parameters=[("w", 1, 1), ("v", 1, grad)], sketches=False)
        lost = replace(made.parameters[0], grad={})
        return replace(made, parameters=(lost, made.parameters[1]))

    found = compare(of(1e-9), of(2e-9))
    assert [row.gradient.status for row in found.state] == ["unknown", "different"]


def test_whole_numbers_and_parameters_of_one_side_do_not_hinder_a_cast():
    def of(*dtypes):
        made = report(parameters=[(name, 1, None) for name, _ in dtypes])
        rows = [
            replace(row, dtype=dtype)
            for row, (_, dtype) in zip(made.parameters, dtypes, strict=True)
        ]
        return replace(made, parameters=tuple(rows))

    a = of(("x", "float64"), ("w", "float32"), ("n", "int64"), ("v", "bfloat16"))
    b = of(("w", "float16"), ("n", "int32"), ("v", "bfloat16"), ("y", "float64"))
    assert compare(a, b).warnings == (
        "parameters are float32 in A and float16 in B: differences of dtype are ignored",
    )


def test_the_warnings_of_the_reports_are_told_with_their_side():
    a, b = (replace(report(), warnings=texts) for texts in (("one", "two"), ("three",)))
    assert compare(a, b).warnings == ("A: one", "A: two", "B: three")


# The first difference


def first(a, b):
    return compare(report(*a), report(*b)).first


def test_the_output_of_a_wrapped_model_is_compared_though_its_call_has_no_counterpart():
    a = report(call("fc", (1,), (2,)), root=((1,), (1, 2, 4)))
    inner = [call("model", (1,), (1, 2, 4)), call("model.fc", (1,), (2,), parent=1)]
    found = compare(a, report(*inner, root=((1,), (1, 3, 8))))
    assert found.reasons == ("the output of the model",)
    assert [item.relative for item in found.output] == [0.0, 0.5, 1.0]
    assert found.first.sentence == (
        "all calls with a counterpart agree, but the model's output differs by 0.5 of its norm"
    )
    assert (found.first.fault, found.first.a, found.first.b) == ("model", None, None)
    assert (found.first.relative, found.first.limit) == (0.5, F32)


@pytest.mark.parametrize("kind", ["parameter", "buffer"])
def test_a_stored_value_that_differs_alone_is_told(kind):
    def of(*values):
        rows = [(name, value, None)[: 3 if kind == "parameter" else 2] for name, value in values]
        return report(**{f"{kind}s": rows})

    a, b = of(("p", 1), ("u", 1), ("v", 1), ("w", 1)), of(("u", 1), ("v", 3), ("w", 9))
    found = compare(a, b).first
    assert found.sentence == f"all calls agree, but the {kind} v differs by 2 of its norm"
    assert (found.fault, found.a, found.within, found.after) == ("parameter", None, None, None)
    assert (found.relative, found.limit) == (2.0, 0.0)


def graded(*gradients, root=((1,), (1,))):
    names = ("a.weight", "a.bias", "b.weight", "c")
    rows = [(name, 1, grad) for name, grad in zip(names, gradients, strict=True)]
    parent = None if root is None else 0
    calls = [call(name, (1,), (1,), parent=parent) for name in "ab"]
    return report(*calls, root=root, parameters=rows)


@pytest.mark.parametrize(
    ("gradients", "told"),
    [
        ((1, 1, 2, 1), " at b (Linear): the gradient of b.weight differs by 1 of its norm"),
        ((3, 1, 1, 1), " at a (Linear): the gradient of a.weight differs by 2 of its norm"),
        ((2, 3, 1, 1), " at a (Linear): the gradient of a.bias differs by 2 of its norm; 2 of 4 "
                       "gradients differ"),
        ((2, 2, 2, 2), " at b (Linear): the gradient of b.weight differs by 1 of its norm; 4 of 4 "
                       "gradients differ"),
        ((2, 3, None, 1), " at a (Linear): the gradient of a.bias differs by 2 of its norm; 2 of 3 "
                          "gradients differ"),
        ((1, 1, 1, 2), " at the model (Net): the gradient of c differs by 1 of its norm"),
    ],
)  # fmt: skip
def test_the_gradient_that_backward_computes_first_is_told(gradients, told):
    known = [grad and 1 for grad in gradients]
    found = compare(graded(*known), graded(*gradients)).first
    assert found.sentence == f"all calls agree, but in backward, gradients first differ{told}"
    assert (found.fault, found.a, found.b) == ("gradient", None, None)
    assert (found.relative, found.limit) == (2.0 if "by 2" in told else 1.0, F32)


def test_a_gradient_without_a_call_has_no_place():
    found = compare(graded(1, 1, 1, 1, root=None), graded(1, 1, 1, 2, root=None)).first
    assert "gradients first differ: the gradient of c differs by 1 of its norm" in found.sentence


ENDS = " in 'b' (Linear) ends the gradient's path"


def cut(*behind, layer="b", kind="detach"):
    return {"kind": kind, "operator": kind, "layer": layer, "module": "Linear",
            "place": "net.py:7", "behind": behind}  # fmt: skip


@pytest.mark.parametrize(
    ("in_a", "in_b", "told"),
    [
        ([], [cut("a")], f": in B, `detach` at net.py:7{ENDS}"),
        ([cut("a.bias")], [], f": in A, `detach` at net.py:7{ENDS}"),
        ([cut("a", layer="a")], [cut("a")],
         f": in B, `detach` at net.py:7{ENDS}"),
        ([], [cut("a"), cut("a", kind="no_grad"), cut("b")],
         ": in B, `no_grad` at net.py:7 in 'b' (Linear) records no gradients"),  # the last one
        ([cut("a")], [cut("a")], ""),  # both have it
        ([cut("b")], [cut("c")], ""),  # nothing behind it differs
    ],
)  # fmt: skip
def test_what_cuts_the_gradient_on_one_side_only_is_told(in_a, in_b, told):
    def of(grad, cuts):
        made = graded(1, grad, 1, 1)
        rows = [Measurement("cuts", "", None, value, None) for value in cuts]
        return replace(made, measurements=(*made.measurements, *rows))

    sentence = compare(of(1, in_a), of(2, in_b)).first.sentence
    assert sentence.endswith(f"the gradient of a.bias differs by 1 of its norm{told}")


def test_the_cut_is_found_by_the_name_of_each_side():
    def of(grad, prefix, *cuts):
        rows = [Measurement("cuts", "", None, value, None) for value in cuts]
        made = report(call(f"{prefix}fc", (1,), (1,)), parameters=[(f"{prefix}fc.w", 1, grad)])
        return replace(made, measurements=(*made.measurements, *rows))

    found = compare(of(1, ""), of(2, "net.", cut("net.fc")))
    assert ": in B, `detach`" in found.first.sentence
    found = compare(of(1, "", cut("fc")), of(2, "net."))
    assert ": in A, `detach`" in found.first.sentence
    assert ": in " not in compare(of(1, ""), of(2, "net.", cut("fc"))).first.sentence


def test_a_call_without_a_counterpart_is_not_the_one_whose_code_is_the_cause():
    inner = {"parent": 2}
    a = [call("x", (1,), (2,)), call("x.y", (1,), (2,), parent=1), call("fc", (1,), (2,), **inner)]
    b = [call("fc", (5,), (2,))]
    found = first(a, b)
    assert (found.fault, found.within, found.after) == ("code", ref(0, ""), None)
    assert found.sentence == (
        "all earlier calls agree, but the input of fc (Linear) differs by 4 of its norm: the cause "
        "is in the code of the model (Net)"
    )
    before = [call("z", (1,), (2,)), call("z.in", (1,), (2,), parent=1)]
    found = first([*before, call("fc", (1,), (2,))], [*before, *b])
    assert (found.within, found.after) == (ref(0, ""), ref(1, "z"))


def test_inputs_that_differ_from_the_start_have_no_code_that_is_the_cause():
    a, b = (report(call("a", (x,), (2,), parent=None), root=None) for x in (1, 5))
    found = compare(a, b).first
    assert (found.fault, found.within, found.after) == ("inputs", None, None)
    assert found.sentence == (
        "the inputs of a (Linear) already differ: its input differs by 4 of its norm"
    )


def test_a_tensor_of_one_side_is_told_only_if_no_other_differs():
    found = first([call("a", (1,), (1, 1))], [call("a", (1,), (1.5,))])
    assert found.sentence.endswith("but its output differs by 0.5 of its norm")
    assert found.relative == 0.5
    found = first([call("a", (1,), (1, 1))], [call("a", (1,), (1,))])
    assert found.sentence.endswith("but its output exists only in A")
    assert found.relative is None


def test_only_the_values_of_the_module_itself_are_told_with_its_call():
    # fmt: off
    a = report(call("a", (1,), (1,)), buffers=[("a.mean", 1)],
               parameters=[("a.w", 1, 1), ("a.v", 1, 1), ("a.in.w", 1, 1), ("b.w", 1, 1)])
    b = report(call("a", (1,), (2,)), buffers=[("a.mean", 2)],
               parameters=[("a.w", 1, 2), ("a.v", 2, 1), ("a.in.w", 2, 1), ("b.w", 2, 1)])
    # fmt: on
    assert compare(a, b).first.sentence.endswith(" of its norm (a.v, a.mean differ)")


# Exact figures


def test_exact_figures_of_the_first_difference_are_kept_with_it():
    a, b = report(call("a", (1,), (2,))), report(call("a", (1,), (5,)))
    row = ExactDiff("[0]", "[0]", 2, 1, 0.5, 0.25, (0,), 1.0, 1.5)
    found = compare(a, b, Settings(exact={(1, "outputs"): (row,), (1, "inputs"): ()}))
    assert (found.first.inputs, found.first.outputs) == ((), (row,))
    assert (found.first.relative, found.rows[1].outputs[0].how) == (0.25, "exact")


def test_exact_figures_of_a_part_are_not_those_of_what_the_whole_model_returns():
    """A is the part `model` of B, so figures of A's output are of that part."""
    a = report(call("fc", (1,), (2,)), root=((1,), (4,)))
    b = report(call("model", (1,), (5,)), call("model.fc", (1,), (2,), parent=1), root=((1,), (7,)))
    row = ExactDiff("[0]", "[0]", 2, 1, 0.5, 1e-7)
    found = compare(a, b, Settings(exact={(0, "outputs"): (row,), (0, "inputs"): ()}))
    assert (found.rows[0].outputs[0].how, found.rows[0].status) == ("exact", "close")
    assert [(item.how, item.relative) for item in found.output] == [("sketch", 0.75)]


def test_a_row_of_exact_figures_is_made_from_a_measurement():
    values = {"path": "", "other_path": "x", "numel": 4, "differ": 2, "max_abs": 0.5,
              "relative": "inf", "a": 1.0, "b": "nan"}  # fmt: skip
    assert exact_diff({**values, "at": [1, 2]}) == ExactDiff(
        "", "x", 4, 2, 0.5, "inf", (1, 2), 1.0, "nan"
    )
    assert exact_diff({**values, "at": None}).at is None
