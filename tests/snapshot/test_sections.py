"""The sections of a snapshot, of reports made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookcli.report.findings import Measurement
from hookcli.report.values import Leaf
from hookcli.snapshot.globs import NameSet, folded, ranges
from hookcli.snapshot.gradients import gradients
from hookcli.snapshot.learning import learning
from hookcli.snapshot.section import by_depth
from hookcli.snapshot.shapes import dtypes, outer
from tests.formats.fabricate import layer, parameter, report, stats


def leaves(*shapes, dtype="float32"):
    return tuple(Leaf(f"[{i}]", shape, dtype) for i, shape in enumerate(shapes))


def net(*parameters, calls=(), measurements=(), total=None):
    made = report("grads", layers=(layer(0, "", "Net", None), *calls), parameters=parameters,
                  measurements=measurements)  # fmt: skip
    return replace(made, totals=replace(made.totals, grad_norm=total))


@pytest.mark.parametrize(
    ("low", "high", "globs"),
    [(13, 25, ["1[3-9]", "2[0-5]"]), (13, 19, ["1[3-9]"]), (9, 10, ["9", "10"]),
     (18, 21, ["1[8-9]", "2[0-1]"]), (10, 19, ["1[0-9]"]), (95, 100, ["9[5-9]", "100"])],
)  # fmt: skip
def test_a_range_of_numbers_is_few_globs(low, high, globs):
    assert list(ranges([*range(low, high + 1)])) == globs


def test_numbers_that_no_glob_joins_are_names_of_their_own():
    values = {"h.0.3": 1, "h.0.7": 1, "h.1.0": 2}
    assert folded(values, NameSet([*values])) == [("h.0.3", 1), ("h.0.7", 1), ("h.1.0", 2)]


def test_of_more_items_than_fit_at_the_first_depth_the_first_are_made():
    made, comment = by_depth([f"l{i}" for i in range(9)], None, 4, list)
    assert (made, comment) == (["l0", "l1", "l2", "l3"], ("The first 4 of 9.",))
    made, comment = by_depth(["a", "a.b", "a.c"], None, 2, list)
    assert made == ["a"]
    assert comment == ("Down to depth 1; hookcli snapshot --depth N includes more.",)


def checks_of_the_model(*outputs):
    """The checks of the outputs of a model whose calls have these shapes."""
    calls = [
        replace(layer(i, "", "Net", None, outputs=leaves(*shapes), call=i), inputs=())
        for i, shapes in enumerate(outputs)
    ]
    section = outer(report("inspect", layers=tuple(calls)))
    return section.says, [(check["path"], check["shape"]) for check in section.checks]


def test_calls_of_other_structures_have_no_shape_in_common():
    assert checks_of_the_model([(2, 3)], [(4, 3)])[1] == [("[0]", ("*", 3))]
    assert checks_of_the_model([(2, 3)], [(2, 3), (1,)])[1] == []
    assert checks_of_the_model([(2, 3)], [(2, 3, 1)])[1] == []


def test_of_many_outputs_the_first_are_checked():
    says, checks = checks_of_the_model([(2, i) for i in range(1, 41)])
    assert says[-1] == f"The first {len(checks)} of 40 tensors."
    assert checks[-1] == (f"[{len(checks) - 1}]", (2, len(checks)))


def test_parameters_of_integers_have_no_dtype_to_check():
    whole = parameter("fc.weight", (2,)), replace(parameter("fc.index", (2,)), dtype="int64")
    wanted = {"rule": "dtype", "part": "parameter", "dtype": "float32"}
    assert wanted in dtypes(net(*whole)).checks


def changed(*names):
    return tuple(Measurement("step", name, None, True, None) for name in names)


@pytest.mark.parametrize(
    ("norm", "total", "learns"),
    [(0.5, 1.0, True), ("nan", 1.0, True), (0.5, None, True), (1e-12, 1.0, False)],
)
def test_a_parameter_learns_if_its_gradient_is_more_than_rounding(norm, total, learns):
    row = parameter("fc.weight", (2,), grad=stats(norm))
    section = learning(net(row, measurements=changed("fc.weight"), total=total))
    assert bool(section.checks) is learns
    if learns:
        assert section.checks[0]["rule"] == "trainable"


def cut(name, operator="detach"):
    value = {"operator": operator, "layer": name, "behind": (name,), "count": 1}
    return Measurement("cuts", name, None, value, None)


def test_many_cuts_of_an_operator_are_allowed_in_every_layer():
    def allowed(names):
        calls = [layer(i, name, "Linear", 0) for i, name in enumerate(names, 1)]
        measured = tuple(cut(name) for name in names)
        return gradients(net(calls=calls, measurements=measured)).checks[0].get("allow")

    assert allowed(["fc"]) == ("fc:detach",)
    letters = "abcdefg"
    assert allowed([f"{a}{b}" for a in letters for b in letters]) == ("*:detach",)


def test_parts_with_a_small_share_of_the_gradients_are_not_checked():
    rows = [parameter("body.weight", (2,), grad=stats(1.0)),
            parameter("head.weight", (2,), grad=stats(1e-9))]  # fmt: skip
    calls = [layer(1, "body", "Linear", 0), layer(2, "head", "Linear", 0)]
    none = Measurement("cuts", "", None, {"count": 0}, None)
    checks = gradients(net(*rows, calls=calls, measurements=(none,))).checks
    shares = [check for check in checks if check["rule"] == "grad_share"]
    assert shares == [{"rule": "grad_share", "at": "body.*", "share": 1.0}]


def test_layers_that_the_loss_reaches_are_checked():
    rows = [Measurement("connected", "body", None, True, None),
            Measurement("connected", "head", None, False, None),
            Measurement("cuts", "", None, {"count": 0}, None)]  # fmt: skip
    calls = [layer(1, "body", "Linear", 0), layer(2, "head", "Linear", 0)]
    section = gradients(net(calls=calls, measurements=tuple(rows)))
    assert {"rule": "connected", "at": "body"} in section.checks
    unreached = gradients(net(calls=calls, measurements=tuple(rows[1:])))
    assert [check["rule"] for check in unreached.checks] == ["grad_cuts"]
