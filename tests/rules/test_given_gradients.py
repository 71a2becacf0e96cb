"""Whole findings about the gradients of runs that are given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookcli.report.findings import CheckRow, Measurement
from hookcli.report.path_ends.end_rows import CUT, LAYER
from hookcli.report.steps import UpdateRow
from hookcli.rules.catalogue import CATALOGUE
from hookcli.rules.rule import RuleFinding
from tests.comparison.reports import call, report
from tests.comparison.trainings import record
from tests.rules.judging import found, only
from tests.rules.test_given_reports import cut, net, reached, with_gradients


def passes(message, value=None, limit=None):
    return [RuleFinding("pass", "", "", message, value, limit)]


def skips(message):
    return [RuleFinding("skip", "", "", message)]


def missing(what, name):
    return [RuleFinding("error", name, "no match", f"no {what} matches '{name}'")]


# Parameters without a gradient


def lost(target, status, message, value, place, **more):
    return [RuleFinding("fail", target, status, message, value, 0, place, **more)]


NONE = "got no gradient: the loss does not reach {}"
ZERO = "got a gradient that is exactly zero"
ZERO_ADVICE = (
    "look for an input of zeros, a product with zero, a clipped or rounded result, and a sum in "
    "which the gradients cancel, such as a difference of two calls"
)


def test_parameters_without_a_gradient_are_told_as_one_finding():
    made = with_gradients(net("a.x", "a.y", "b"), a_x="none", a_y="none")
    message = f"2 parameters in 2 modules {NONE.format('them')}"
    assert found("grad_exists", made) == lost("a", "none", message, 2, "train.py:11")
    made = with_gradients(net("a.x", "a.y", "b"), a_x="zero", a_y="none")
    assert found("grad_exists", made) == [
        *lost("a.x", "zero", f"weight {ZERO}", 1, "train.py:11", advice=ZERO_ADVICE),
        *lost("a.y", "none", f"weight {NONE.format('it')}", 1, "train.py:12"),
    ]
    assert found("grad_exists", made, at=("a.y.*",)) == found("grad_exists", made)[1:]
    whole = with_gradients(net("a", "b"), a="none", b="none")
    message = f"2 parameters in 2 modules {NONE.format('them')}"
    assert found("grad_exists", whole) == lost("", "none", message, 2, "train.py:10")


def test_parameters_of_one_module_are_named():
    rows = [(f"a.{name}", 1, None) for name in "wxyz"] + [("b.w", 1, None)]
    made = report(call("a", (1,), (1,)), call("b", (1,), (1,)), parameters=rows)
    made = with_gradients(made, a="zero")
    message = f"w, x, y and 1 more {ZERO}"
    assert found("grad_exists", made) == lost(
        "a", "zero", message, 4, "train.py:11", advice=ZERO_ADVICE
    )


def test_a_module_that_never_ran_explains_missing_gradients():
    made = net("a", uncalled=("b", "c"))
    made = with_gradients(made, b="none", c="zero")
    message = f"weight {NONE.format('it')} (the module never ran)"
    assert found("grad_exists", made) == [
        *lost("b", "none", message, 1, "net.py:0"),
        *lost("c", "zero", f"weight {ZERO}", 1, "net.py:1", advice=ZERO_ADVICE),
    ]


def test_a_measured_reason_gives_a_missing_gradient_its_cause():
    made = reached(cut("unused", "b"), cut("cut", "a"), cut("rounding", "a"), a="none", b="zero")
    causes = {one.target: (one.cause, one.advice) for one in found("grad_exists", made)}
    paths = {one.cause: one.advice for one in found("grad_path", made, all=True)}
    assert causes == {
        "a": ("cut_off", paths["cut_off"]), "b": ("unused", paths["unused"]),
    }  # fmt: skip
    both = reached(cut("cut", "b"), cut("unused", "a"), a="none", b="none")
    first = only("grad_exists", both)  # one finding about both
    assert (first.cause, first.advice) == ("cut_off", paths["cut_off"])
    others = reached(cut("cut", "c"), a="none")
    assert only("grad_exists", others).cause == ""


def test_gradients_and_frozen_parameters_are_counted():
    made = with_gradients(net("a", "b", "c"), c="frozen")
    assert found("grad_exists", made) == passes("2 parameters got a gradient (1 frozen)", 0, 0)
    message = "1 parameter got a gradient"
    assert found("grad_exists", made, at=("a.*",)) == passes(message, 0, 0)
    expected = RuleFinding("error", "", "no match", "no parameter matches 'y', 'z'")
    assert found("grad_exists", made, at=("y", "z")) == [expected]


def test_frozen_parameters_do_not_keep_a_module_from_being_the_outermost():
    made = with_gradients(net("a.x", "a.y", "b"), a_x="none", a_y="frozen")
    assert only("grad_exists", made).target == "a"


# Layers that are connected to the loss


def layers(*values, cuts=()):
    rows = [Measurement(LAYER, name, None, value, None) for name, value in values]
    rows += [Measurement(CUT, "", None, value, None) for value in cuts]
    return replace(net("a", "b", "c"), measurements=tuple(rows))


def test_layers_that_the_loss_does_not_reach_are_told_from_the_last():
    made = layers(("", False), ("a", False), ("b", True), ("c", False), cuts=[{"count": 0}])
    rows = [
        ("c", "'c'", "train.py:13"),
        ("a", "'a'", "train.py:11"),
        ("", "the model", "train.py:10"),
    ]
    expected = [
        RuleFinding("fail", name, "not connected",
                    f"no gradient of the loss reaches the output of {who}", False, True, place)
        for name, who, place in rows
    ]  # fmt: skip
    assert found("connected", made, at=("*",)) == expected
    assert found("connected", made, at=("zz", "b", "a")) == expected[1:2]
    assert found("connected", made, at=("b",)) == passes("a gradient reaches 1 layer")
    assert found("connected", made, at=("zz",))[0].message == "no module matches 'zz'"
    assert found("connected", layers(("b", True)), at=("b",))[0].status == "pass"
    failed = layers(("b", True), cuts=[{"why": "fake tensors have no values"}])
    assert found("connected", failed, at=("b",)) == skips("fake tensors have no values")


# Cuts


def cuts(*values):
    rows = [{"count": len(values)}, *values]
    made = tuple(Measurement(CUT, "", None, value, None) for value in rows)
    return replace(net("a", "b"), measurements=made)


def of_detach(layer, **more):
    return {"operator": "detach", "kind": "detach", "layer": layer, "module": "Linear",
            "place": "m.py:5", "behind": ["a", "b"], **more}  # fmt: skip


def test_cuts_that_are_not_allowed_are_told():
    made = cuts(of_detach("a"), of_detach("b", place=None), of_detach(None, operator="item"))
    where = ("`detach` at m.py:5 in 'a' (Linear)", "`detach` in 'b' (Linear)", "`item` at m.py:5")
    expected = [
        RuleFinding("fail", layer, f"cut by {operator}",
                    f"{words} ends the gradient's path: no gradient of 'a', 'b' flows through it",
                    None, None, place)
        for words, layer, operator, place in (
            (where[0], "a", "detach", "m.py:5"), (where[1], "b", "detach", None),
            (where[2], "", "item", "m.py:5"),
        )
    ]  # fmt: skip
    assert [replace(one, advice=None) for one in found("grad_cuts", made)] == expected
    assert found("grad_cuts", made)[0].advice.startswith("remove `detach`")
    for options, left in (
        ({"allow": ("a:detach", ":item")}, ["b"]), ({"allow": ("*:detach",)}, [""]),
        ({"at": "b"}, ["b"]), ({"at": ""}, [""]), ({"at": "[ab]"}, ["a", "b"]),
    ):  # fmt: skip
        assert [one.target for one in found("grad_cuts", made, **options)] == left
    message = "no operator cuts a gradient on the way to the loss"
    allowed = found("grad_cuts", made, allow=("*:detach", ":*"), exact=True)
    assert allowed == passes(f"{message} (3 cuts allowed)", limit=0)
    assert found("grad_cuts", cuts()) == passes(message, limit=0)


def test_cuts_that_could_not_be_measured_say_why():
    made = replace(net("a"), measurements=(Measurement(CUT, "", None, {"why": "fake"}, None),))
    assert found("grad_cuts", made) == skips("fake")


def test_an_allowed_cut_that_is_gone_is_told_if_it_must_exist():
    made = cuts(of_detach("a"))
    gone = {"allow": ("a:*", "b:detach", ":item"), "exact": True}
    message = "{} no longer cuts the gradient, which now flows on"
    assert found("grad_cuts", made, **gone) == [
        RuleFinding("fail", "b", "no cut by detach", message.format("`detach` in 'b'")),
        RuleFinding("fail", "", "no cut by item", message.format("`item` in the model's own code")),
    ]
    assert only("grad_cuts", made, **{**gone, "exact": False}).status == "pass"


def test_a_cut_that_is_not_on_the_way_to_the_loss_is_a_whole_finding():
    made = reached(cut("cut", "a", parameters=1), a="none")
    message = (
        "'a' is cut off from the loss: `detach` at m.py:5 in 'a' (a) ends the gradient's path, so "
        "1 parameter gets no gradient"
    )
    expected = RuleFinding("fail", "a", "cut by detach", message, 1, 0, "m.py:5", cause="cut_off")
    [finding] = found("grad_path", made)
    assert replace(finding, advice=None) == expected
    message = "no operator cuts a trainable parameter off from the loss"
    assert found("grad_path", reached(cut("unused", "a"), a="none")) == passes(message, 0, 0)


@pytest.mark.parametrize(
    ("status", "numel", "expected"),
    [
        ("none", 1, "skip"),
        ("zero", 1, "skip"),
        ("zero", 0, "pass"),
        ("frozen", 1, "pass"),
        ("ok", 1, "pass"),
    ],
)
def test_reasons_are_needed_only_if_a_gradient_is_missing(status, numel, expected):
    made = with_gradients(net("a", "b"), a=status)
    rows = tuple(replace(row, numel=numel) for row in made.parameters)
    [finding] = found("grad_path", replace(made, parameters=rows))
    assert finding.status == expected
    if expected == "skip":
        assert finding.message == "where gradients end was not measured"


# Norms


def norms(*values, total=None):
    made = with_gradients(net("a", "b", "c"))
    rows = [
        replace(row, grad={"norm": norm}, grad_to_weight=norm)
        for row, norm in zip(made.parameters, values, strict=False)
    ]
    return replace(made, parameters=tuple(rows), totals=replace(made.totals, grad_norm=total))


@pytest.mark.parametrize(
    ("rule", "what"),
    [("grad_norm", "the gradient's norm"),
     ("grad_to_weight", "the ratio of the gradient's norm to the weight's norm")],
)  # fmt: skip
def test_each_norm_stays_within_the_limits(rule, what):
    limits = {"at": ("*",), "min": 0.5, "max": 2}
    made = norms(0.49, 2.01, 1.0)
    first, second = found(rule, made, **limits)
    assert replace(first, advice=None) == RuleFinding(
        "fail", "a.weight", "below", f"{what} is below 0.5", 0.49, 0.5, "train.py:11"
    )
    assert replace(second, advice=None) == RuleFinding(
        "fail", "b.weight", "above", f"{what} is above 2", 2.01, 2, "train.py:12"
    )
    assert first.advice.startswith("check the scale of the loss")
    assert second.advice.startswith("scale the loss")
    assert found(rule, norms(0.5, 2.0, "nan"), **limits) == passes("3 parameters within the limits")
    assert found(rule, made, **{**limits, "at": ("c.*",)}) == passes(
        "1 parameter within the limits"
    )
    zero = tuple(replace(row, status="zero") for row in made.parameters)
    made = replace(made, parameters=(*zero[:2], made.parameters[2]))
    assert found(rule, made, **limits) == passes("1 parameter within the limits")


def test_the_norm_over_all_gradients_stays_within_the_limits():
    limits = {"min": 0.5, "max": 2}
    for total, word, limit in ((0.49, "below", 0.5), (2.01, "above", 2)):
        [finding] = found("grad_norm", norms(1.0, total=total), **limits)
        message = f"the norm over all gradients is {word} {limit}"
        expected = RuleFinding("fail", "", word, message, total, limit, None)
        assert replace(finding, advice=None) == expected
    message = "the norm over all gradients is within the limits"
    for total in (0.5, 2, "nan"):
        assert found("grad_norm", norms(1.0, total=total), **limits) == passes(message, total)


def test_the_ratio_to_a_weight_of_zero_is_not_judged():
    made = norms(9.0, 9.0, 9.0)
    rows = [
        replace(row, stats={"norm": norm})
        for row, norm in zip(made.parameters, (0.0, 1.0, None), strict=True)
    ]
    made = replace(made, parameters=(*rows[:2], replace(rows[2], stats=None)))
    assert [one.target for one in found("grad_to_weight", made, max=1)] == ["b.weight"]


# Parameters that learn


def stepped(*changed, statuses=("ok", "ok"), requires_grad=True):
    made = net("a", "b")
    rows = tuple(
        replace(row, status=status, requires_grad=requires_grad)
        for row, status in zip(made.parameters, statuses, strict=True)
    )
    steps = [
        Measurement("step", row.name, None, value, None)
        for row, value in zip(rows, changed, strict=False)
    ]
    return replace(made, parameters=rows, measurements=tuple(steps))


@pytest.mark.parametrize(
    ("rule", "more", "kind", "words"),
    [
        ("frozen", {"statuses": ("frozen", "ok")}, "gradient", "got a gradient"),
        ("frozen", {"statuses": ("frozen", "zero")}, "gradient", "got a gradient"),
        ("frozen", {"statuses": ("frozen", "non_finite")}, "gradient", "got a gradient"),
        ("frozen", {"statuses": ("frozen", "none")}, None, "2 parameters did not learn"),
        ("trainable", {"statuses": ("ok", "none")}, "none",
         "got no gradient: the loss does not reach it"),
        ("trainable", {"statuses": ("ok", "zero")}, "zero", "got a gradient that is exactly zero"),
        ("trainable", {}, None, "2 parameters learned"),
    ],
)  # fmt: skip
def test_a_parameter_learns_or_not(rule, more, kind, words):
    made = stepped(**more)
    expected = passes(words)
    if kind is not None:
        expected = [
            RuleFinding("fail", "b.weight", kind, f"b.weight {words}", None, None, "train.py:12")
        ]
    assert found(rule, made, at=("*",)) == expected


def test_whether_a_parameter_changes_is_known_from_a_training():
    made = record([1.0], {"a.weight": 0.5, "b.weight": 0.5})
    rows = tuple(replace(row, status="ok") for row in made.parameters)
    updates = tuple(
        UpdateRow(row.name, (1.0,), changed)
        for row, changed in zip(rows, (True, False), strict=True)
    )
    made = replace(made, parameters=rows, training=replace(made.training, updates=updates))
    still = only("trainable", made, at=("*",))
    assert (still.target, still.kind) == ("b.weight", "unchanged")


@pytest.mark.parametrize(
    ("rule", "options"),
    [("grad_exists", {}), ("grad_path", {}), ("frozen_by_mistake", {}), ("grad_norm", {}),
     ("grad_to_weight", {}), ("trainable", {}), ("frozen", {}), ("vanishing_gradient", {}),
     ("grad_share", {"share": 1.0})],
)  # fmt: skip
def test_a_backward_pass_ran_if_the_state_of_one_gradient_is_known(rule, options):
    rows = [("a.weight", 1.0, 1.0), ("b.weight", 1.0, None)]
    made = report(call("a", (1,), (1,)), call("b", (1,), (1,)), parameters=rows)
    backward = "no backward pass ran"
    if "at" in CATALOGUE[rule].filled({}):
        options = {"at": ("a.*",), **options}
    assert found(rule, made, **options) == skips(backward)
    states = replace(made.parameters[0], status="ok"), made.parameters[1]
    assert found(rule, replace(made, parameters=states), **options) != skips(backward)


def test_a_parameter_that_changes_or_does_not_change_in_a_step_is_told():
    statuses = ("frozen", "frozen")
    changed = only("frozen", stepped(False, True, statuses=statuses), at=("*",))
    assert (changed.target, changed.kind) == ("b.weight", "changed")
    still = only("trainable", stepped(True, False), at=("*",))
    assert (still.target, still.kind) == ("b.weight", "unchanged")
    frozen = found("trainable", stepped(True, True, requires_grad=False), at=("a.*",))
    message = "a.weight is frozen: requires_grad is False"
    assert frozen == [RuleFinding("fail", "a.weight", "frozen", message, None, None, "train.py:11")]
    error = {"error": "E: x", "place": "n.py:3"}
    made = replace(stepped(), measurements=(Measurement("step", "", None, error, None),))
    expected = RuleFinding(
        "error", "", "no step", "the optimizer step failed: E: x", None, None, "n.py:3"
    )
    assert found("trainable", made, at=("*",)) == [expected]


# Hooks that the run judged


def test_findings_of_the_run_keep_their_fingerprint():
    row = CheckRow("hook_misuse", "a", "fail", "warning", 2, 1, "kept", "c.yaml:3", "print")
    made = replace(
        net("a"), checks=(replace(row, rule="hooks_fired"), row, replace(row, status="pass"))
    )
    expected = RuleFinding(
        "fail", "a", "", "kept", 2, 1, "c.yaml:3", severity="warning", fingerprint="print"
    )
    for rule, words in (
        ("hook_misuse", "no configured hook was misused"),
        ("hooks_fired", "every configured hook fired"),
    ):  # fmt: skip
        assert found(rule, made) == [expected]
        assert found(rule, net("a")) == passes(words)
