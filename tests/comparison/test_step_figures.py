"""Which figures of a step are compared, in which order, and what is rounding in each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookcli.comparison.tolerance import Tolerances
from hookcli.comparison.training.compare_trainings import compare_trainings
from hookcli.comparison.training.observed import observe
from hookcli.comparison.training.step_pairs import StepPairs
from hookcli.report.events import EventRow, Streamed
from hookcli.report.steps import UpdateRow
from hookcli.report.values import Leaf
from tests.comparison.trainings import record, training

NAMES = ("a.weight", "b.weight")


def plain(steps=2, sampled=None, **more):
    norms = dict.fromkeys(NAMES, 0.5)
    return record([2.0] * steps, norms, sampled=sampled, **more)


def leaf(norm, path="", shape=(2, 3), dtype="float32"):
    return Leaf(path, shape, dtype, stats=None if norm is None else {"norm": norm})


def with_layers(report, **by_name):
    """Give the calls of these layers other fields; `root` is the model itself."""
    rows = [replace(row, **by_name.get(row.name or "root", {})) for row in report.layers]
    return replace(report, layers=tuple(rows))


def with_notes(report, name, step, **more):
    """Add to the figures of a parameter in a sampled step."""

    def changed(row):
        notes = [note | more if note["step"] == step else note for note in row.steps]
        return replace(row, steps=tuple(notes))

    rows = [changed(row) if row.name == name else row for row in report.parameters]
    return replace(report, parameters=tuple(rows))


def with_updates(report, **ratios):
    updates = [UpdateRow(f"{name}.weight", ratio, True) for name, ratio in ratios.items()]
    return replace(report, training=replace(report.training, updates=tuple(updates)))


def event(target, *values, step=0, phase="forward", kind="forward", seq=0):
    return EventRow(seq, step, phase, kind, target, 0, None, 0, tuple(values))


def figures(a, b, step=0, **tolerances):
    """(kind, name, status) of the figures of a step, without those of the whole step."""
    pairs = StepPairs(observe(a), observe(b), Tolerances(tuple(tolerances.items())))
    return [(f.kind, f.name, f.status) for f in pairs.figures(step) if f.name is not None]


def test_the_figures_of_a_step_are_in_the_order_of_the_computation():
    full = with_layers(
        plain(),
        a={"inputs": (leaf(1.0),), "outputs": (leaf(2.0),), "output_grad": {"norm": 3.0}},
        b={"outputs": (leaf(4.0),), "output_grad": {"norm": 5.0}},
    )
    full = with_updates(with_notes(full, "a.weight", 0, weight={"norm": 1.0}), a=(0.1, 0.2))
    events = (
        event("a", leaf(1.0)),
        event("b:output", leaf(1.0), phase="backward", kind="tensor"),
        event("optimizer", leaf(1.0), phase="optimizer", kind="step"),
    )
    full = replace(full, events=events)
    pairs = StepPairs(observe(full), observe(full), Tolerances())
    assert [(f.kind, f.name) for f in pairs.figures(0)] == [
        ("weight", "a.weight"),
        ("forwards", None),
        ("shape", "a:input"), ("output", "a:input"),
        ("shape", "a:output"), ("output", "a:output"),
        ("shape", "b:output"), ("output", "b:output"),
        ("event", "a (forward)"),
        ("loss", None),
        ("backwards", None),
        ("output_gradient", "b"), ("event", "b:output (tensor)"), ("gradient", "b.weight"),
        ("output_gradient", "a"), ("gradient", "a.weight"),
        ("grad_norm", None),
        ("lr", None),
        ("update_ratio", "a.weight"),
        ("event", "optimizer (step)"),
    ]  # fmt: skip
    assert all(figure.status == "same" for figure in pairs.figures(0))


def test_layers_are_compared_in_the_one_step_that_has_them():
    a = with_layers(plain(3, (1, 2)), a={"outputs": (leaf(1.0),), "output_grad": {"norm": 1.0}})
    b = with_layers(plain(3, (1, 2)), a={"outputs": (leaf(2.0),), "output_grad": {"norm": 2.0}})
    seen = [("output", "a:output", "different"), ("output_gradient", "a", "different")]
    assert [figure for figure in figures(a, b, 1) if figure in seen] == seen
    first = compare_trainings(training(a), training(b)).first
    assert (first.figure.name, first.layer, first.place) == ("a:output", "a", "train.py:11")
    for step in (0, 2):
        assert all(kind == "gradient" for kind, *_ in figures(a, b, step))
    other = with_layers(plain(3, (0, 1)), a={"outputs": (leaf(2.0),)})  # of step 0
    for step in range(3):
        assert all(kind == "gradient" for kind, *_ in figures(a, other, step))


def test_tensors_of_a_layer_are_matched_by_path_and_only_those_of_both_are_compared():
    a = with_layers(plain(), a={"outputs": (leaf(1.0, "[0]"), leaf(2.0, "[1]"), leaf(3.0, "[2]"))})
    b = with_layers(plain(), a={"outputs": (leaf(3.0, "[2]"), leaf(9.0, "[1]", (2, None)))})
    assert [row for row in figures(a, b) if row[0] in ("shape", "output")] == [
        ("shape", "a:output[1]", "different"), ("output", "a:output[1]", "different"),
        ("shape", "a:output[2]", "same"), ("output", "a:output[2]", "same"),
    ]  # fmt: skip
    pairs = StepPairs(observe(a), observe(b), Tolerances())
    assert next((f.a, f.b) for f in pairs.figures(0) if f.kind == "shape") == ("[2, 3]", "[2, *]")


def test_a_call_without_a_counterpart_is_not_compared():
    a = with_layers(plain(), a={"outputs": (leaf(1.0),)}, b={"outputs": (leaf(1.0),)})
    b = replace(a, layers=tuple(row for row in a.layers if row.name != "a"))
    assert {name for kind, name, _ in figures(a, b) if kind == "output"} == {"b:output"}
    unnamed = with_layers(a, b={"name": None, "output_grad": {"norm": 1.0}})
    kinds = {kind for kind, *_ in figures(unnamed, unnamed)}
    assert kinds == {"shape", "output", "gradient"}  # no figure of backward without a name


def test_weights_that_no_step_changed_may_differ_by_what_their_dtype_rounds():
    def weights(norm, step, dtype="float32"):
        rows = [replace(row, dtype=dtype) for row in plain().parameters]
        return with_notes(replace(plain(), parameters=tuple(rows)), "a.weight", step,
                          weight={"norm": norm})  # fmt: skip

    for step, dtype, other, status in (
        (0, "float32", 1 + 3e-6, "different"), (0, "float32", 1 + 1e-6, "close"),
        (0, "bfloat16", 1.009, "close"), (0, "bfloat16", 1.02, "different"),
        (1, "float32", 1.009, "close"), (1, "float32", 1.011, "different"),
    ):  # fmt: skip
        found = figures(weights(1.0, step, dtype), weights(other, step, dtype), step)
        assert ("weight", "a.weight", status) in found
    cast = figures(weights(1.0, 0, "float32"), weights(1.009, 0, "bfloat16"))
    assert ("weight", "a.weight", "close") in cast  # the coarser of the two


def test_a_gradient_that_is_small_beside_the_others_may_be_rounding():
    def gradients(small, large):
        return record([2.0], {"a.weight": small, "b.weight": large})

    for b, status in ((2.5e-6, "close"), (3.5e-6, "different")):
        found = figures(gradients(1e-6, 1.0), gradients(b, 1.0))
        assert found[-1] == ("gradient", "a.weight", status)
    for large in ("nan", "inf", "none"):  # says nothing about the size of the others
        found = figures(gradients(1.0, large), gradients(1.5, large))
        assert found[-1] == ("gradient", "a.weight", "different")


def test_gradients_of_a_scaled_loss_are_compared_without_the_scale():
    """Those of layers and hooks have the factor of the GradScaler; those of parameters do not."""

    def made(factor, scale):
        one = with_layers(plain(), a={"output_grad": {"norm": 2.0 * factor}})
        steps = [replace(row, scale=scale) for row in one.training.steps]
        events = (event("a:input", leaf(3.0 * factor), phase="backward"), event("a", leaf(5.0)))
        return replace(one, training=replace(one.training, steps=tuple(steps)), events=events)

    for pair in ((made(1, None), made(1024, 1024.0)), (made(1, 1.0), made(8, 8.0))):
        found = figures(*pair)
        assert ("output_gradient", "a", "same") in found
        assert ("event", "a:input (forward)", "same") in found
        assert {status for _, _, status in found} == {"same"}
    assert ("output_gradient", "a", "different") in figures(made(1, None), made(2, None))


def test_the_rate_of_another_group_than_the_first_is_compared():
    def made(largest):
        one = plain()
        steps = [replace(row, largest_lr=largest) for row in one.training.steps]
        return replace(one, training=replace(one.training, steps=tuple(steps)))

    first = compare_trainings(training(made(3.0)), training(made(0.003))).first
    assert (first.figure.kind, first.figure.a, first.figure.b) == ("lr", 3.0, 0.003)
    assert compare_trainings(training(made(3.0)), training(made(3.0))).first is None


def test_autocast_rounds_as_the_dtype_of_its_layers():
    def made(gradient, dtype):
        one = record([2.0], {"a.weight": gradient, "b.weight": 1.0})
        return with_layers(one, a={"outputs": (leaf(1.0, dtype=dtype),)})

    for dtype, status in (("float32", "different"), ("bfloat16", "close")):
        found = figures(made(1e-9, "float32"), made(1e-3, dtype))
        assert ("gradient", "a.weight", status) in found
    diff = compare_trainings(training(made(1e-9, "float32")), training(made(1e-3, "bfloat16")))
    assert [(row.name, row.a, row.b) for row in diff.settings] == [
        ("dtype of outputs", "float32", "bfloat16")
    ]


def test_a_loss_near_zero_may_be_rounding_beside_the_largest_so_far():
    def lost(*values):
        return record([*values], {"a.weight": 0.5})

    def status(a, b):
        pairs = StepPairs(observe(a), observe(b), Tolerances())
        found = [[f.status for f in pairs.figures(step) if f.kind == "loss"] for step in (0, 1)]
        return found[1]

    assert status(lost(1.0, 1e-6), lost(1.0, 2e-6)) == ["close"]
    assert status(lost(1e-3, 1e-6), lost(1e-3, 2e-6)) == ["different"]
    assert status(lost(None, 1e-6), lost(1.0, 2e-6)) == ["close"]  # of either
    assert status(lost("inf", 1e-6), lost("inf", 2e-6)) == ["different"]
    assert status(lost(0.0, 1e-6), lost(1.0, 2e-6)) == ["close"]
    pairs = StepPairs(*(observe(lost(1.0, "inf", norm)) for norm in (1e-6, 2e-6)), Tolerances())
    found = [[f.status for f in pairs.figures(step) if f.kind == "loss"] for step in range(3)]
    assert found[2] == ["close"]


def test_updates_are_compared_if_the_gradients_are_equal():
    a, b = (with_updates(plain(), a=(0.1, None), b=(ratio, 0.1)) for ratio in (0.1, 0.2))
    assert [row for row in figures(a, b) if row[0] == "update_ratio"] == [
        ("update_ratio", "a.weight", "same"), ("update_ratio", "b.weight", "different"),
    ]  # fmt: skip
    assert [name for kind, name, _ in figures(a, b, 1) if kind == "update_ratio"] == ["b.weight"]
    apart = with_notes(b, "b.weight", 0, grad={"norm": 0.6})
    assert [name for kind, name, _ in figures(a, apart) if kind == "update_ratio"] == ["a.weight"]
    lacking = with_updates(plain(), b=(0.1, 0.1))
    assert [name for kind, name, _ in figures(a, lacking) if kind == "update_ratio"] == ["b.weight"]


def events_of(*events):
    return replace(plain(), events=events)


def test_events_are_matched_by_hook_target_path_and_number():
    a = events_of(
        event("a", leaf(1.0, "[0]"), leaf(2.0, "[1]")),
        event("a", leaf(3.0, "[0]")),
        event("b", leaf(4.0)),
        event("a", leaf(5.0, "[0]"), kind="tensor"),
    )
    b = events_of(
        event("a", leaf(1.0, "[0]")),
        event("a", leaf(9.0, "[0]")),
        event("b", leaf(4.0), step=1),
        event("a", leaf(5.0, "[0]"), kind="tensor", phase="backward"),
    )
    assert [row for row in figures(a, b) if row[0] == "event"] == [
        ("event", "a[0] (forward)", "same"), ("event", "a[0] (forward)", "different"),
    ]  # fmt: skip
    streamed = replace(plain(), events=Streamed("events.jsonl", 3, 0))
    assert not [row for row in figures(a, streamed) if row[0] == "event"]


def test_an_event_is_in_its_part_of_the_step():
    values = {"forward": 1, "build": 2, "backward": 3, "optimizer": 4}
    one = events_of(*(event("a", leaf(n), phase=phase) for phase, n in values.items()))
    two = events_of(*(event("a", leaf(n * 2), phase=phase) for phase, n in values.items()))
    pairs = StepPairs(observe(one), observe(two), Tolerances())
    found = [(f.phase, f.a) for f in pairs.figures(0) if f.kind == "event"]
    assert found == [("forward", 1), ("backward", 3), ("optimizer", 4)]


def test_an_event_that_is_small_beside_the_others_may_be_rounding():
    def of(small, *large):
        return events_of(event("a", leaf(small)), *(event("b", leaf(size)) for size in large))

    for b, large, status in (
        (2.5e-6, (1.0,), "close"), (3.5e-6, (1.0,), "different"), (2.5e-6, (None, 1.0), "close"),
        (2.5e-6, ("nan",), "different"), (2.5e-6, (), "different"), (2.5e-6, (-1.0,), "close"),
        (2.5e-6, ("inf", 1.0), "close"),
    ):  # fmt: skip
        assert figures(of(1e-6, *large), of(b, *large))[0] == ("event", "a (forward)", status)


def test_names_of_hooks_are_those_of_the_counterpart():
    def wrapped(report, prefix):
        layers = [replace(row, name=row.name and f"{prefix}{row.name}") for row in report.layers]
        rows = [replace(row, name=f"{prefix}{row.name}") for row in report.parameters]
        return replace(report, layers=tuple(layers), parameters=tuple(rows))

    a = events_of(*(event(at, leaf(1.0)) for at in ("a", "a:output", "b.weight", "other")))
    b = wrapped(events_of(*(event(f"net.{at}", leaf(1.0)) for at in ("a", "a:output", "b.weight")),
                          event("other", leaf(1.0))), "net.")  # fmt: skip
    assert [name for kind, name, _ in figures(a, b) if kind == "event"] == [
        "a (forward)", "a:output (forward)", "b.weight (forward)", "other (forward)",
    ]  # fmt: skip
    b = with_layers(b, **{"net.b": {"place": "other.py:7"}})
    gradient = with_notes(b, "net.b.weight", 0, grad={"norm": 0.9})
    first = compare_trainings(training(a), training(gradient)).first
    assert (first.layer, first.place, first.other_place) == ("b", "train.py:12", "other.py:7")


# The order of backward


def test_backward_goes_from_the_loss_to_the_inputs():
    def at(target, seq, value=1.0):
        return event(target, leaf(value), phase="backward", kind="tensor", seq=seq)

    report = events_of(
        at("a:output", 5), at("b:input[0]", 4), at("b:output", 1), at("b", 9),
        at("b.weight", 3), at("b.inner:output", 6), at("gone:output", 7), at("", 8),
    )  # fmt: skip
    report = with_layers(report, b={"output_grad": {"norm": 1.0}})
    assert [name for _, name, _ in figures(report, report)] == [
        "b", "b:output (tensor)", "b.inner:output (tensor)",
        "b.weight", "b.weight (tensor)", "b (tensor)", "b:input[0] (tensor)",
        "a:output (tensor)", "a.weight", "gone:output (tensor)", " (tensor)",
    ]  # fmt: skip


def test_a_recomputed_call_has_no_place_in_backward():
    report = with_layers(
        plain(), a={"output_grad": {"norm": 1.0}}, b={"output_grad": {"norm": 1.0}}
    )
    again = replace(report.layers[1], order=3, recomputed=True)
    report = replace(report, layers=(*report.layers, again))
    names = [name for kind, name, _ in figures(report, report) if kind == "output_gradient"]
    assert names == ["b", "a", "a"]


def test_the_only_sampled_step_has_its_figures_in_the_row_of_the_parameter():
    def one(norm, sampled):
        report = plain(2, sampled)
        rows = [
            replace(row, steps=(), status="ok", grad={"norm": norm}) for row in report.parameters
        ]
        return replace(report, parameters=tuple(rows))

    found = figures(one(0.5, (1,)), one(0.7, (1,)), 1)
    assert found == [("gradient", f"{name}.weight", "different") for name in "ba"]
    assert not figures(one(0.5, (1,)), one(0.7, (1,)), 0)
    assert not figures(one(0.5, (0, 1)), one(0.7, (0, 1)), 1)  # of which step it is, is not known
    with pytest.raises(ValueError, match="not a record of a training"):
        observe(replace(plain(), training=None))
