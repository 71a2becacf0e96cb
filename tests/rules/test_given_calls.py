"""Whole findings about shapes, calls, names and ranks of runs that are given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookcli.report.distributed import DifferenceRow, Distributed, RankRow, UnreachedRow
from hookcli.report.findings import Measurement
from hookcli.report.report import UncalledRow
from hookcli.report.values import Leaf
from hookcli.rules import shapes
from hookcli.rules.rule import RuleFinding
from hookcli.rules.select import matches
from hookcli.rules.shapes import why_not
from tests.comparison.reports import call, report
from tests.comparison.trainings import record
from tests.rules.judging import found, only
from tests.rules.test_given_reports import net, with_gradients


def passes(message, value=None, limit=None):
    return [RuleFinding("pass", "", "", message, value, limit)]


# Shapes


@pytest.mark.parametrize(
    ("shape", "wanted", "why"),
    [
        ((2, 3), (2, 3), ""), ((2, 3), ("*", 3), ""),
        ((2, 3), (2,), "got 2 dimensions, expected 1"),
        ((2,), (2, 3), "got 1 dimension, expected 2"), ((), (), ""),
        ((2, 3), (4, 5), "dimension 0 is 2, expected 4"),
        ((2, 3), ("*", 5), "dimension 1 is 3, expected 5"),
        ((2, 2), ("B", "B"), ""), ((2, 3), ("B", "B"), "dimension 1 is 3, expected B = 2"),
        ((2, 3), ("B", "C"), ""), ((None, 3), ("*", 3), ""),
        ((None, 3), ("B", 3), "the size of dimension 0 depends on the data"),
        ((None, 3), (2, 3), "dimension 0 is None, expected 2"),
    ],
)  # fmt: skip
def test_a_shape_is_compared_from_the_first_dimension(shape, wanted, why):
    assert why_not(shape, wanted, {}) == why


def shaped(*calls, **more):
    """A report of calls (name, outputs), each output (path, shape)."""
    made = report(*(call(name, (1,), ()) for name, _ in calls))
    rows = [
        replace(row, outputs=tuple(Leaf(path, shape, "float32") for path, shape in outputs))
        for row, (_, outputs) in zip(made.layers[1:], calls, strict=True)
    ]
    return replace(made, layers=(made.layers[0], *rows), **more)


def test_a_wrong_shape_is_told_for_each_tensor_of_a_module():
    made = shaped(
        ("a", [("[0]", (2, 3)), ("[1]", (2, 4))]), ("b", [("", (5, 3))]), ("a", [("[0]", (2, 9))]),
        ("c", []),
    )  # fmt: skip

    def wrong(target, path, shape, why, row):
        message = f"output{path} of {target} (Linear) has shape {shape}: {why}"
        place = f"train.py:{10 + row}"
        return RuleFinding("fail", target, f"output{path}", message, shape, "[B, 3]", place)

    nothing = RuleFinding("fail", "c", "no output", "c (Linear) has no output", None, "[B, 3]",
                          "train.py:14")  # fmt: skip
    of_a = wrong("a", "[1]", "[2, 4]", "dimension 1 is 4, expected 3", 1)
    again = wrong("a", "[0]", "[2, 9]", "dimension 1 is 9, expected 3", 3)
    of_b = wrong("b", "", "[5, 3]", "dimension 0 is 5, expected B = 2", 2)
    options = {"shape": ("B", 3)}
    assert found("output_shape", made, at="[abc]", **options) == [of_a, of_b, again, nothing]
    assert found("output_shape", made, at="b", **options) == passes(
        "the output of 1 call has shape [B, 3] (B = 5)", limit="[B, 3]"
    )
    assert found("output_shape", made, at="a", path="[1]", shape=("*", 4))[1:] == []
    missing = found("output_shape", made, at="a", path="[1]", shape=("*", 4))
    assert missing == [
        RuleFinding("fail", "a", "no output", "a (Linear) has no output[1]", None, "[*, 4]",
                    "train.py:13")
    ]  # fmt: skip
    twice = shaped(("a", [("[0]", (2, 9))]), ("a", [("[0]", (2, 9)), ("[1]", (2, 4))]))
    assert [one.kind for one in found("output_shape", twice, at="a", **options)] == [
        "output[0]", "output[1]",
    ]  # fmt: skip
    several = shaped(("a", [("", (2, 3))]), ("b", [("", (2, 3))]))
    assert found("output_shape", several, at="*[ab]", shape=("B", "C")) == passes(
        "the output of 2 calls has shape [B, C] (B = 2, C = 3)", limit="[B, C]"
    )
    assert found("output_shape", several, at="a", shape=(2, "*")) == passes(
        "the output of 1 call has shape [2, *]", limit="[2, *]"
    )


def test_a_module_that_never_ran_has_no_shape():
    rows = UncalledRow("x", "ReLU", "net.py:3"), UncalledRow("b", "Linear", "net.py:4")
    made = shaped(("a", []), uncalled=rows)
    never = RuleFinding("fail", "b", "never ran", "Linear never ran", None, None, "net.py:4")
    assert found("input_shape", made, at="b", shape=(1,)) == [never]
    missing = RuleFinding("error", "zz", "no match", "no module that ran matches 'zz'")
    assert found("input_shape", made, at="zz", shape=(1,)) == [missing]
    skip = RuleFinding("skip", "", "", "the run did not finish")
    assert found("input_shape", replace(made, error="any"), at="b", shape=(1,)) == [skip]


def test_both_rules_about_shapes_require_a_shape():
    for rule, name in ((shapes.OUTPUT, "output_shape"), (shapes.INPUT, "input_shape")):
        assert (rule.name, [one.name for one in rule.options if one.required]) == (name, ["shape"])


@pytest.mark.parametrize(
    ("glob", "name", "does"),
    [("a*[xy]?", "abxc", True), ("a*[xy]?", "a*[xy]?", False), ("a.b", "a.b", True),
     ("a.b", "axb", False), ("*", "", True), ("a*", "a.b.c", True)],
)  # fmt: skip
def test_globs_match_names(glob, name, does):
    assert matches(glob, name) is does


# Modules that never ran


def test_modules_without_a_call_are_whole_findings():
    made = replace(
        net("a", uncalled=("b", "b.x")),
        uncalled=(UncalledRow("act", "ReLU", "net.py:9"), UncalledRow("b", "Block", "net.py:1"),
                  UncalledRow("b.x", "Linear", "net.py:2")),
    )  # fmt: skip
    made = with_gradients(made, b="none", b_x="none")
    of_b = RuleFinding(
        "fail", "b", "never ran", "Block never ran, but has parameters", 0, 1, "net.py:1"
    )
    of_act = RuleFinding("fail", "act", "never ran", "ReLU never ran", 0, 1, "net.py:9")
    assert found("uncalled_modules", made) == [of_b]
    assert found("uncalled_modules", made, all=True) == [of_act, of_b]
    assert found("uncalled_modules", made, all=True, at="a*") == [of_act]
    assert found("uncalled_modules", made, at="a*") == passes(
        "1 module ran (1 module without parameters did not)"
    )
    used = with_gradients(made, b="none", b_x="zero")
    assert found("uncalled_modules", used, at="b*") == passes("1 module ran")


def test_a_batch_norm_that_ran_again_is_a_whole_finding():
    calls = [call("bn", (1,), (1,), type="BatchNorm2d", call=number) for number in range(3)]
    message = "ran 3 times in one forward, each time updating its running statistics"
    expected = RuleFinding("fail", "bn", "batch norm again", message, 3, 1, "train.py:13",
                           advice="if the calls see different kinds of data, give each a "
                                  "BatchNorm of its own")  # fmt: skip
    assert found("uncalled_modules", report(*calls)) == [expected]
    for more in ({"training": False}, {"recomputed": True}, {"type": "LayerNorm"}):
        others = [{**one, **more} for one in calls[1:]]
        assert only("uncalled_modules", report(calls[0], *others)).status == "pass"


# Ranks


def ranks(*rows, unreached=(), parallel="ddp", world_size=2):
    """A run of ranks of which the last one differs from rank 0 in these rows."""
    last = RankRow(1, "complete", (), tuple(DifferenceRow(*row) for row in rows))
    own = Distributed("gloo", parallel, world_size, "allreduce", {}, ranks=(last,),
                      unreached=tuple(UnreachedRow(*row) for row in unreached))  # fmt: skip
    return replace(net("a", "b", "c"), distributed=own)


def part(what, noun, names, target, count, row, norms=""):
    message = f"rank 1 and rank 0 have different {noun} of {names}{norms}"
    place = f"train.py:{10 + row}"
    return RuleFinding("fail", target, f"{what} on rank 1", message, count, 0, place)


def test_differences_between_ranks_are_told_with_the_worst_norms():
    made = ranks(
        ("parameter value", "c.weight", 2.0, 2.0), ("gradient", "b.weight", 1.0, 1.5),
        ("gradient", "a.weight", 0.5, 1.0), ("gradient", "c.weight", 0.0, 0.0),
    )  # fmt: skip
    of_all = part("gradient", "gradients", "b.weight, a.weight, c.weight", "b.weight", 3, 2,
                  " (norms of a.weight: 0.5, 1)")  # fmt: skip
    of_value = part("parameter value", "values", "c.weight", "c.weight", 1, 3,
                    " (norms of c.weight: 2, 2)")  # fmt: skip
    assert found("ranks_agree", made) == [of_all, of_value]
    of_a = part(
        "gradient", "gradients", "a.weight", "a.weight", 1, 1, " (norms of a.weight: 0.5, 1)"
    )
    assert found("ranks_agree", made, rtol=0.4) == [of_a]
    assert found("ranks_agree", made, at="a*") == [of_a]
    message = "3 parameters and their gradients are equal within 0.5 on 2 ranks"
    assert found("ranks_agree", made, rtol=0.5) == passes(message, 0, 0)
    message = "3 parameters and their gradients are bitwise equal on 3 ranks"
    assert found("ranks_agree", ranks(world_size=3)) == passes(message, 0, 0)
    [skip] = found("ranks_agree", ranks(world_size=1))
    assert skip.message == "only one rank ran: pass `--nproc 2` to run two ranks"


@pytest.mark.parametrize(("value", "of_rank_0"), [(None, 1.0), (1.0, None), (-1.0, 1.0)])
def test_a_norm_that_is_missing_on_a_rank_differs(value, of_rank_0):
    made = ranks(("gradient", "a.weight", value, of_rank_0))
    norms = "" if None in (value, of_rank_0) else " (norms of a.weight: -1, 1)"
    expected = part("gradient", "gradients", "a.weight", "a.weight", 1, 1, norms)
    assert found("ranks_agree", made, rtol=1.9) == [expected]


def test_a_parameter_that_some_ranks_use_is_told_as_a_warning():
    made = ranks(unreached=[("b.weight", (1, 2)), ("a.weight", (0, 1, 2))], world_size=3)
    message = "the loss reaches b.weight on some ranks, but not on 1, 2"
    expected = RuleFinding("fail", "b.weight", "uneven", message, 2, 0, "train.py:12", "warning")
    assert found("ranks_agree", made) == [expected]
    assert only("ranks_agree", made, at="a*").status == "pass"


def trained(wrappers=(), **digests):
    """The record of a training; digests of ranks 0, 1 and so on by step ("s5")."""
    made = record([1.0], {"a.weight": 0.5})
    known = {int(step[1:]): row for step, row in digests.items()}
    training = replace(made.training, rank_digests=known, wrappers=wrappers)
    return replace(made, training=training, model=replace(made.model, place="net.py:1"))


def test_ranks_of_a_training_are_compared_after_each_sampled_step():
    def apart(which, others, step, **more):
        message = (
            f"the parameters of rank {others} differ from those of rank {which} after step {step}"
        )
        return RuleFinding("fail", "", "ranks part", message, others.count(",") + 1, 0, "net.py:1",
                           step=step, **more)  # fmt: skip

    ddp = ("DistributedDataParallel",)
    same, differ = ("x", "x", "x"), ("x", "y", "z")
    [error] = found("ranks_agree", trained(ddp, s9=differ, s2=same, s5=("x", "x", "z")))
    assert replace(error, advice=None) == apart(0, "2", 5, severity="error")
    assert error.advice.startswith("find the code")
    [warning] = found("ranks_agree", trained((), s9=(None, "y", "z", "w")))
    expected = apart(1, "2, 3", 9, severity="warning")
    message = f"{expected.message}: nothing averages their gradients"
    assert replace(warning, advice=None) == replace(expected, message=message)
    assert warning.advice == "wrap the model in `DistributedDataParallel`"
    message = "the parameters of 3 ranks are the same after 2 steps"
    assert found(
        "ranks_agree", trained(s1=("x", "x"), s2=("x", None, "x"), s3=("x", None))
    ) == passes(message)
    skip = RuleFinding("skip", "", "", "the parameters of several ranks were not compared")
    for made in (trained(), trained(s1=("x",)), trained(s1=(None, "x", None))):
        assert found("ranks_agree", made) == [skip]


# A saved report


def same(now, then, **options):
    return found("same_as", now, report="then.json", saved=then, **options)


def differs(target, kind, message, a=None, b=None, place=None):
    return RuleFinding("fail", target, kind, message, a, b, place)


def test_parameters_that_differ_from_a_saved_report_are_whole_findings():
    rows = [("a.w", 1.0, None), ("a.x", 1.0, None), ("a.y", 1.0, None)]
    now = report(call("a", (1,), (1,)), parameters=[*rows, ("a.new", 1, None)])
    then = report(call("a", (1,), (1,)), parameters=[*rows, ("a.old", 1, None)])
    changes = {"shape": (3,)}, {"dtype": "float16"}, {"stats": {"norm": 1.5}}, {}
    pairs = zip(then.parameters, changes, strict=True)
    then = replace(then, parameters=tuple(replace(row, **change) for row, change in pairs))
    place, shape = "train.py:11", "parameter shape"
    assert same(now, then) == [
        differs("a.w", shape, "parameter a.w is [2] float32, was [3] float32", "[2] float32",
                "[3] float32", place),
        differs("a.x", shape, "parameter a.x is [2] float32, was [2] float16", "[2] float32",
                "[2] float16", place),
        differs("a.y", "norm of the weight", "the norm of the weight of a.y is 1, was 1.5", 1.0,
                1.5, place),
        differs("a.old", "parameter", "parameter a.old is missing", place=place),
        differs("a.new", "parameter", "parameter a.new is new", place=place),
    ]  # fmt: skip
    none = replace(now, parameters=tuple(replace(row, stats=None) for row in now.parameters))
    for one, other in ((now, none), (none, now)):
        assert only("same_as", one, report="then.json", saved=other).status == "pass"
    assert same(now, then, at="a.y", rtol=0.34) == passes(
        "1 parameters and calls match then.json", limit=0.34
    )


@pytest.mark.parametrize(
    ("then", "rtol", "status"),
    [(1.25, 0.2, "pass"), (1.25, 0.19, "fail"), (0.8, 0.25, "pass"), (0.8, 0.24, "fail"),
     (0.0, 9.0, "fail"), ("nan", 9.0, "fail"), (None, 0.0, "pass")],
)  # fmt: skip
def test_norms_may_differ_by_the_tolerance(then, rtol, status):
    now = report(parameters=[("w", 1.0, None)])
    rows = tuple(replace(row, stats={"norm": then}) for row in now.parameters)
    [finding] = same(now, replace(now, parameters=rows), rtol=rtol)
    assert finding.status == status


def test_calls_that_differ_from_a_saved_report_are_whole_findings():
    now = report(call("a", (1,), (2,)), call("b", (1,), (2,)), place="net.py:1")
    swapped = report(call("a", (1,), (2,)), call("c", (1,), (2,)), call("d", (1,), (2,)))
    now_longer = report(*(call(name, (1,), (2,)) for name in "abx"))
    assert [one.target for one in same(now_longer, swapped)] == ["b"]
    place = "train.py:12"
    order = differs("b", "order", "b (Linear) runs instead of c (Linear)", 2, 2, place)
    assert same(now, swapped) == [order]
    fewer = report(call("a", (1,), (2,)))
    message = "3 calls, expected 2"
    assert same(now, fewer) == [differs("", "calls", message, 3, 2, "net.py:1")]
    norms = report(call("a", (1,), (2,)), call("b", (1.5,), (2, 3)))
    assert same(now, norms) == [
        differs("b", "norm of input[0]", "the norm of input[0] of b is 1, was 1.5", 1, 1.5, place),
        differs("b", "outputs[1]", "output[1] of b (Linear) is nothing, was [2] float32", "nothing",
                "[2] float32", place),
    ]  # fmt: skip
    assert same(now, now) == passes("3 parameters and calls match then.json", limit=1e-4)
    rows = [replace(row, output_grad={"norm": float(i)}) for i, row in enumerate(now.layers)]
    others = [replace(row, output_grad={"norm": 2.0 * i}) for i, row in enumerate(now.layers)]
    what = "norm of the gradient at the output"
    assert same(replace(now, layers=tuple(rows)), replace(now, layers=tuple(others))) == [
        differs(
            name, what, f"the {what} of {name} is {i}, was {2 * i}", i, 2 * i, f"train.py:{10 + i}"
        )
        for i, name in ((1, "a"), (2, "b"))
    ]


def test_only_the_gradient_that_backward_computes_first_is_told():
    def made(**norms):
        names = [(f"{name}.weight", 1.0, norm) for name, norm in norms.items()]
        made = report(*(call(name, (1,), (1,)) for name in norms), parameters=names)
        rows = [replace(row, status="ok" if row.grad else "none") for row in made.parameters]
        return replace(made, parameters=tuple(rows))

    now, then = made(a=1.0, b=2.0, c=3.0), made(a=1.5, b=2.5, c=3.0)
    what = "norm of the gradient"
    message = (
        "in backward, gradients first differ at b (Linear): the {} of b.weight is 2, was 2.5{}"
    )
    more = "; 1 more of 3 gradients differs"
    expected = differs("b.weight", what, message.format(what, more), 2.0, 2.5, "train.py:12")
    assert same(now, then) == [expected]
    alone = replace(expected, message=message.format(what, ""))
    assert same(now, then, at="b*") == [alone]
    unknown = made(a=None, b=None, c=None)
    rows = tuple(replace(row, status=None) for row in unknown.parameters)
    unknown = replace(unknown, parameters=rows)  # no backward pass ran
    assert [*same(now, unknown), *same(unknown, now)] == passes(
        "7 parameters and calls match then.json", limit=1e-4
    ) * 2
    detach = {"operator": "detach", "kind": "detach", "layer": "c", "module": "Linear",
              "place": "m.py:5", "behind": ["b"]}  # fmt: skip
    cut = replace(now, measurements=(Measurement("cuts", "", None, detach, None),))
    end = ": `detach` at m.py:5 in 'c' (Linear) ends the gradient's path"
    told = replace(expected, message=f"{expected.message}{end}")
    assert same(cut, then) == [told]
    assert same(cut, replace(then, measurements=cut.measurements)) == [expected]
    none = made(a=1.0, b=None, c=3.0)
    message = "in backward, gradients first differ at b (Linear): b.weight {}"
    assert same(none, now) == [
        differs("b.weight", "gradient", message.format("gets no gradient, its norm was 2"), None,
                2.0, "train.py:12")
    ]  # fmt: skip
    assert same(now, none) == [
        differs("b.weight", "gradient", message.format("gets a gradient of norm 2, it got none"),
                2.0, None, "train.py:12")
    ]  # fmt: skip
