"""What rules say about given reports: what is skipped and why, whom a finding names, and where."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookcli.report.events import EventRow, Streamed
from hookcli.report.findings import CheckRow, Measurement
from hookcli.report.report import UncalledRow
from hookcli.report.steps import OptimizerInfo, UpdateRow
from hookcli.report.training import FirstNonFinite
from hookcli.rules.activations import dead_units, measured
from hookcli.rules.catalogue import CATALOGUE
from hookcli.rules.finite import FOUND, first_sentence
from hookcli.rules.firing_order import callees
from hookcli.rules.select import places
from hookcli.rules.trainability import causal, initial_loss, unregistered_parameters
from hookcli.rules.verdict import Verdict, verdict_of
from tests.comparison.reports import call, report
from tests.comparison.trainings import record
from tests.rules.judging import found, only

ONE = report(call("a", (1,), (2,)), parameters=[("a.weight", 1, None)])
BACKWARD = "no backward pass ran"
NOT_READ = "this run did not read the activations"
NO_STEPS = "only `hookcli run` observes the steps of a training"


@pytest.mark.parametrize(
    ("message", "rules"),
    [
        (BACKWARD, ["class_dimension", "constant_loss_term", "double_softmax", "equal_units",
                    "exploding_gradient",
                    "frozen", "frozen_by_mistake", "grad_exists", "grad_norm", "grad_path",
                    "grad_share", "grad_to_weight", "initial_loss", "linear_after_linear",
                    "loss_broadcasts", "loss_values", "function_arguments",
                    "clipped_logits", "noise_scale", "loss_sign",
                    "token_targets", "shortcuts", "norm_dimension",
                    "pooled_channels", "reused_layer",
                    "normalizes_one_value", "overfits_one_batch", "reshaped_axes",
                    "self_similarity", "softmax_dimension", "equal_choices",
                    "trainable", "unregistered_parameters", "update_ratio", "vanishing_gradient",
                    "wrong_backward"]),
        (NOT_READ, ["all_zero", "dead_units", "empty_mask", "low_variance", "poor_initialization",
                    "range_headroom", "saturated_activation"]),
        (NO_STEPS, ["eval_while_training", "finite_steps", "graphless_training", "learning_rate",
                    "loss_falls", "loss_scale", "loss_spikes", "optimizer_model", "skipped_steps",
                    "optimizer_steps", "unchanged_parameters", "unheld_parameters",
                    "grad_norm_grows", "grad_norm_spikes", "zero_grad_called", "gradients_used",
                    "clipping_used", "loaded_weights", "schedule_steps", "plateau_mode",
                    "warmup_restarts", "constant_term", "entropy_sign",
                    "frozen_attribute", "label_shift", "first_batch_only",
                    "lost_updates", "repeated_seed", "unheld_model",
                    "optimizer_construction", "model_copies", "frozen_parts", "loss_direction",
                    "batch_dimension", "batch_contents", "kept_graph",
                    "model_code", "loss_size", "unread_values", "evaluation_code", "data_code",
                    "separate_splits",
                    "step_spikes"]),
        ("the source of the model was not read", ["discarded_result", "module_backward",
                                                  "repeated_module", "unread_input",
                                                  "unread_setting"]),
        ("the modules were not looked at", ["batch_norm_statistics", "high_dropout",
                                            "padding_tokens",
                                            "trained_mask"]),
        ("no code calls `squeeze` without a dimension", ["single_sample"]),
        ("no operator of a forward has a result in float16", ["half_overflow"]),
        ("nothing tells that later positions must be hidden", ["causal_mask"]),
        ("no tensor has the name of positions, and no attention is to tokens", ["position_effect"]),
        ("what a call leaves behind was not looked at", ["state_between_calls"]),
        ("where gradients end was not measured", ["connected", "grad_cuts"]),
        ("this run has no forward in eval mode", ["dropout_in_eval", "eval_stateless",
                                                 "random_in_eval"]),
        ("no input ends with padding", ["padding_effect"]),
        ("this run did not replace any samples", ["batch_independent"]),
        ("this run did not replace later inputs", ["causal"]),
        ("this run did not check any values", ["finite"]),
        ("the model was not run twice", ["deterministic"]),
        ("no batch norm ran in train mode", ["batch_norm_single"]),
        ("the run was not compared with runs without hooks", ["neutral"]),
        ("the report does not list the hooks that the model had", ["no_hooks"]),
        ("no ranks ran the plan: only `hookcli check` starts them", ["parallel_equal"]),
        ("nothing was compiled: only `hookcli check` compiles the model", ["compile_equal"]),
        ("only one rank ran: pass `--nproc 2` to run two ranks", ["ranks_agree"]),
    ],
)  # fmt: skip
def test_what_a_report_lacks_is_said_once(message, rules):
    values = {
        "glob": "*",
        "globs": ("*",),
        "number": 1.0,
        "shape": "x",
        "function": "plan.py:apply",
        "mesh": "tp:2",
        "word": "eager",
    }
    for name in rules:
        rule = CATALOGUE[name]
        given = {one.name: values[one.shape] for one in rule.options if one.required}
        [finding] = rule.judge(ONE, rule.filled(given))
        assert (finding.status, finding.message) == ("skip", message), name


def with_gradients(made, **status):
    """Give parameters a status, by the name of their module; "ok" without."""
    rows = []
    for row in made.parameters:
        own = status.get(row.name.rpartition(".")[0].replace(".", "_"), "ok")
        norm = {"ok": 1.0, "zero": 0.0}.get(own)
        rows.append(replace(row, status=own, grad=None if norm is None else {"norm": norm}))
    return replace(made, parameters=tuple(rows))


# Gradients that are missing


def net(*names, uncalled=()):
    parameters = [(f"{name}.weight", 1, 1.0) for name in (*names, *uncalled)]
    made = report(*(call(name, (1,), (1,)) for name in names), parameters=parameters)
    rows = tuple(UncalledRow(name, "Linear", f"net.py:{i}") for i, name in enumerate(uncalled))
    return replace(made, uncalled=rows)


def test_a_missing_gradient_is_told_for_the_outermost_module():
    made = with_gradients(net("a.x", "a.y", "b.x", "b.y"), a_x="none", a_y="none", b_y="zero")
    first, second = found("grad_exists", made)
    assert (first.target, first.kind, first.value) == ("a", "none", 2)
    assert first.message == (
        "2 parameters in 2 modules got no gradient: the loss does not reach them"
    )
    assert first.place == "train.py:11"  # `a` was not called itself
    assert (second.target, second.kind) == ("b.y", "zero")
    assert second.message == "weight got a gradient that is exactly zero"
    assert second.place == "train.py:14"


def test_an_empty_parameter_needs_no_gradient():
    made = with_gradients(net("a.x", "a.y"), a_x="none")
    empty = [replace(row, numel=0) if row.status == "none" else row for row in made.parameters]
    assert only("grad_exists", replace(made, parameters=tuple(empty))).status == "pass"
    # And it does not keep its module from being the outermost one.
    made = with_gradients(net("a.x", "a.y", "b"), a_x="none")
    for numel, target in ((0, "a"), (1, "a.x")):
        rows = [
            replace(row, numel=numel) if row.name == "a.y.weight" else row
            for row in made.parameters
        ]
        assert only("grad_exists", replace(made, parameters=tuple(rows))).target == target


@pytest.mark.parametrize(("numel", "status"), [(2, "skip"), (1, "skip"), (0, "pass")])
def test_without_a_measurement_a_missing_gradient_cannot_be_explained(numel, status):
    made = with_gradients(net("a", "b"), a="none")
    rows = [replace(row, numel=numel) for row in made.parameters]
    made = replace(made, parameters=tuple(rows))
    assert only("grad_path", made).status == status
    assert only("grad_path", made, at=("b.*",)).status == "pass"


# Where gradients end


def cut(why, *parts, target="a", **more):
    value = {"why": why, "cut_off": parts, "parameters": 3, "kind": "detach", "operator": "detach",
             "layer": "a", "module": "a", "place": "m.py:5", "output": "[1]", "behind": parts,
             **more}  # fmt: skip
    return Measurement("unreached", target, None, value, None)


def reached(*rows, **status):
    return replace(with_gradients(net("a", "b"), **status), measurements=rows)


@pytest.mark.parametrize(
    ("why", "cause", "advice", "words"),
    [
        ("cut", "cut_off", "remove", "are cut off from the loss: "),
        ("left", "cut_off", "remove", "and only Python code reads the result, so 3 parameters"),
        ("swallowed", "cut_off", "from its `backward`", "function `detach` at m.py:5 passes no"),
        ("rounding", "rounded_gradient", "straight-through",
         "get a gradient that is exactly zero: the derivative of `detach` at m.py:5 is zero"),
        ("other_output", "other_output", "add this output", "does not use output[1], which"),
        ("unused_output", "unused_output", "use the output", "nothing that the loss uses depends"),
        ("unused", "unused", "use it in `forward`", "no operator uses the parameters of"),
        ("cut_output", "cut_output", "remove", "the only output behind"),
    ],
)  # fmt: skip
def test_a_reason_has_a_cause_a_sentence_and_an_advice(why, cause, advice, words):
    made = reached(cut(why, "a", "b"), a="none", b="none")
    finding = only("grad_path", made, all=True)
    assert (finding.cause, finding.place, finding.value) == (cause, "m.py:5", 3)
    assert advice in finding.advice
    assert words in finding.message
    by_operator = why in ("cut", "left", "swallowed", "rounding")
    assert (only("grad_path", made).status == "fail") is by_operator
    if why in ("swallowed", "rounding"):
        nowhere = only("grad_path", reached(cut(why, "a", place=None)), all=True)
        assert "`detach` at" not in nowhere.message
        assert nowhere.place == "train.py:11"


def test_only_reasons_of_the_chosen_parameters_are_told():
    rows = cut("cut", "a"), cut("cut", "b", target="b"), cut("other_output", "a")
    made = reached(*rows, a="none", b="none")
    assert [finding.target for finding in found("grad_path", made)] == ["a", "b"]
    assert [finding.target for finding in found("grad_path", made, at=("b.*",))] == ["b"]
    assert len(found("grad_path", made, all=True)) == 3
    copy = reached(cut("cut", "a", copy_of="b"), a="none")
    assert only("grad_path", copy).status == "pass"
    assert only("grad_path", copy, all=True).cause == "target_network"


def test_what_could_not_be_measured_says_why():
    failed = Measurement("unreached", "", None, {"error": "ValueError: x"}, None)
    assert only("grad_path", reached(failed)).message == (
        "the model could not be run again: ValueError: x"
    )
    why = Measurement("unreached", "", None, {"why": "fake tensors have no values"}, None)
    assert only("grad_path", reached(why)).message == "fake tensors have no values"


# Modules that never ran


def test_each_module_that_never_ran_is_told_unless_its_parameters_were_used():
    made = net("a", uncalled=("b", "b.x", "c", "d", "e"))
    made = with_gradients(made, b="none", b_x="none", c="ok", d="none", e="frozen")
    findings = found("uncalled_modules", made)
    told = [(finding.target, finding.value, finding.limit, finding.place) for finding in findings]
    assert told == [("b", 0, 1, "net.py:0"), ("d", 0, 1, "net.py:3")]
    assert findings[0].message.endswith(", but has parameters")
    assert [finding.target for finding in found("uncalled_modules", made, at="d*")] == ["d"]
    told = found("uncalled_modules", made, all=True)
    assert [finding.target for finding in told] == ["b", "d", "e"]
    assert found("uncalled_modules", replace(made, error="any")) == []


def test_modules_without_parameters_are_told_only_if_asked_for():
    made = replace(
        net("a"), uncalled=(UncalledRow("x", "ReLU", None), UncalledRow("y", "ReLU", None))
    )
    assert only("uncalled_modules", made).message == (
        "1 module ran (2 modules without parameters did not)"
    )
    told = found("uncalled_modules", made, all=True)
    assert [finding.target for finding in told] == ["x", "y"]
    assert not told[0].message.endswith("parameters")


def test_a_batch_norm_that_runs_twice_in_one_forward_is_told():
    def norms(*calls, **more):
        rows = [call("bn", (1,), (1,), type="BatchNorm1d", **{"call": n, **more}) for n in calls]
        return report(*rows)

    finding = only("uncalled_modules", norms(0, 1, 2))
    assert (finding.target, finding.value, finding.limit) == ("bn", 3, 1)
    for made in (norms(0), norms(0, 1, training=False), norms(0, 1, recomputed=True)):
        assert only("uncalled_modules", made).status == "pass"


def test_a_module_that_never_ran_has_the_place_of_its_constructor():
    made = replace(net("a"), uncalled=(UncalledRow("a", "L", "x:1"), UncalledRow("b", "L", "x:2"),
                                       UncalledRow("c", "L", None)))  # fmt: skip
    assert places(made) == {"": "train.py:10", "a": "train.py:11", "b": "x:2"}


# Parameters that do not change


def trained(updates, *, total=10, skipped=0, lr=0.1, dtype="float32", statuses=("ok",) * 3,
            optimizer="SGD"):  # fmt: skip
    made = record([1.0] * total, {"a.weight": 0.5, "b.weight": 0.5}, lr=lr)
    notes = tuple({"step": i, "status": s, "grad": None} for i, s in enumerate(statuses))
    rows = tuple(replace(row, dtype=dtype, steps=notes) for row in made.parameters)
    info = replace(
        made.training, updates=tuple(updates), skipped=skipped,
        optimizer=None if optimizer is None else OptimizerInfo(optimizer, 2, 0, 1, {}),
    )  # fmt: skip
    return replace(made, parameters=rows, training=info)


STILL = [UpdateRow(f"{name}.weight", (0.0,), False) for name in "ab"]


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({}, "other"), ({"statuses": ("none", "none")}, "none"),
        ({"statuses": ("none", "zero")}, "zero"), ({"statuses": ("none", "frozen")}, "none"),
        ({"statuses": ("frozen",)}, "none"), ({"statuses": ()}, "other"),
        ({"statuses": ("none", "ok")}, "other"), ({"lr": 0.0}, "lr"),
        ({"dtype": "float16"}, "rounding"), ({"dtype": "bfloat16"}, "rounding"),
        ({"dtype": "float16", "lr": 0.0}, "lr"), ({"lr": [0.0] * 8 + [0.1] * 2}, "other"),
    ],
)  # fmt: skip
def test_why_a_parameter_does_not_change(more, kind):
    finding = only("unchanged_parameters", trained(STILL, **more))
    assert (finding.kind, finding.target, finding.value) == (kind, "a.weight", 2)
    assert finding.message.startswith("'a.weight', 'b.weight' do not change in 10 steps: ")
    assert finding.place == "train.py:11"
    if kind == "rounding":
        assert more["dtype"] in finding.message


def test_steps_before_a_warmup_tell_nothing():
    finding = only("unchanged_parameters", trained(STILL, lr=[0.0] * 9 + [0.1]))
    assert finding.status == "skip"


def test_parameters_that_change_pass_and_few_steps_tell_nothing():
    moved = [replace(row, changed=True) for row in STILL]
    assert only("unchanged_parameters", trained(moved)).message == "2 parameters change in 10 steps"
    for made in (
        trained(STILL, total=1), trained(STILL, total=4, skipped=3), trained([]),
        trained(STILL, optimizer=None), trained([replace(row, changed=None) for row in STILL]),
    ):  # fmt: skip
        assert only("unchanged_parameters", made).message == (
            "no two steps of an optimizer were compared"
        )
    assert only("unchanged_parameters", trained(STILL, total=4, skipped=2)).status == "fail"
    one = only("unchanged_parameters", trained([STILL[0], moved[1]]), at=("a.*", "c.*"))
    assert one.message.startswith("'a.weight' does not change")
    assert only("unchanged_parameters", trained(STILL), at=("c.*",)).status == "pass"
    back = [replace(moved[0], restored=True), moved[1]]
    assert only("unchanged_parameters", trained(back)).kind == "restored"
    frozen = trained(STILL)
    rows = tuple(replace(row, requires_grad=False) for row in frozen.parameters)
    assert only("unchanged_parameters", replace(frozen, parameters=rows)).status == "pass"


# Activations


def activations(kind, *rows, read=1, probes=()):
    found_ = [
        Measurement(kind, target, None, {"type": "ReLU", "order": 1, **value}, None)
        for target, value in rows
    ]
    seen = Measurement(measured.SEEN, "", None, dict.fromkeys((kind, *probes), read), None)
    return replace(ONE, measurements=(seen, *found_))


def test_dead_units_are_told_for_each_layer_that_is_asked_for():
    def dead(units=20):
        return {"dead": units, "on": 0, "units": units, "zero": None, "values": 99,
                "function": "relu", "after": "fc"}  # fmt: skip

    made = activations(dead_units.DEAD, ("a", dead()), ("b", dead(10)), ("c", dead(1)))
    assert [one.target for one in found("dead_units", made)] == ["a", "b"]
    assert [one.target for one in found("dead_units", made, at=("b", "c"))] == ["b"]
    assert only("dead_units", made, at=("c",)).status == "pass"  # one unit may be dead by chance
    first = only("dead_units", made, at=("a",))
    assert first.message.startswith("all 20 units of 'a' (ReLU), after 'fc', are dead: relu passes")
    assert first.place == "train.py:11"
    sure = {**dead(1), "zero": 1e-9}
    sure["on"] = 0
    assert "the only unit" not in first.message
    assert dead_units.by_chance(sure) == 0.5


@pytest.mark.parametrize(
    ("function", "flat", "status"),
    [("sigmoid", 51, "fail"), ("sigmoid", 50, "pass"), ("hardtanh", 90, "pass"),
     ("hardtanh", 91, "fail")],
)  # fmt: skip
def test_a_hard_function_may_reach_its_ends(function, flat, status):
    value = {"function": function, "flat": flat, "stuck": 0, "values": 100, "output": False,
             "dtype": "float32", "after": None}  # fmt: skip
    made = activations(measured.SATURATED, ("a", value), probes=(measured.ONE_HOT,))
    assert only("saturated_activation", made).status == status


@pytest.mark.parametrize(("rows", "status"), [(7, "pass"), (8, "fail")])
def test_a_quarter_of_the_values_is_enough_for_rows_of_a_softmax(rows, status):
    value = {"function": "softmax", "flat": rows, "stuck": 0, "values": rows, "output": False,
             "dtype": "float32", "after": None}  # fmt: skip
    made = activations(measured.ONE_HOT, ("a", value), probes=(measured.SATURATED,))
    assert only("saturated_activation", made).status == status


# Values that are not finite


def bad(at, target, order, **more):
    value = {"at": at, "order": order, "path": "", "type": "Linear", "nans": 1, "infs": 0,
             "minus_infs": 0, "numel": 4, **more}  # fmt: skip
    return Measurement(FOUND, target, 0, value, None)


def finite(*rows, calls=("a", "b"), **run):
    made = report(*(call(name, (1,), (1,)) for name in calls))
    return replace(made, measurements=rows, run=replace(made.run, **run))


def test_an_output_that_is_not_finite_is_told_with_its_inputs():
    finding = only("finite", finite(bad("output", "a", 1)))
    assert finding.message == (
        "the output of a (Linear) contains 1 NaN in 4 elements, but its inputs are finite"
    )
    assert (finding.target, finding.place, finding.value) == ("a", "train.py:11", 1)
    whole = only("finite", finite(bad("output", "", 0)))
    assert whole.message.endswith("(computed in its own code, not in a submodule)")
    entered = finite(bad("output", "a", 1), bad("input", "a", 1, nans=0, minus_infs=1))
    assert "and its inputs contain -Inf" in only("finite", entered).message


def test_a_gradient_that_is_not_finite_names_the_only_call_that_used_the_value():
    one = only("finite", finite(bad("gradient", "a", 1, taken_by=[2, 99])))
    assert (one.target, one.place) == ("b", "train.py:12")
    assert one.message.startswith("the gradient at the input of b (Linear) contains 1 NaN")
    several = only("finite", finite(bad("gradient", "a", 1, taken_by=[1, 2])))
    assert (several.target, several.place) == ("a", "train.py:11")
    assert several.message.startswith("the gradient at the output of a (Linear) contains 1 NaN")


@pytest.mark.parametrize(
    ("at", "step", "losses", "kind"),
    [
        ("output", 0, ("nan",), "output"), ("output", None, ("nan",), "output"),
        ("gradient", 0, ("nan",), "loss"),
        ("gradient", 1, ("nan", "nan"), "loss"), ("gradient", 0, (1.0, "nan"), "gradient"),
        ("output", 1, ("nan", "nan"), "loss"), ("updated", None, ("nan",), "loss"),
    ],
)  # fmt: skip
def test_what_is_not_finite_first_is_told(at, step, losses, kind):
    more = {} if step is None else {"step": step}
    row = bad(at, "a", 1, taken_by=[], **more)
    assert only("finite", finite(row, losses=losses, loss="x")).kind == kind


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({}, "the loss is not finite at step 7 at t.py:3: why"),
        ({"what": "gradient", "reason": None}, "the gradient is not finite at step 7 at t.py:3"),
        ({"layer": "fc", "place": None}, "NaN or Inf first appears at step 7 in 'fc': why"),
        ({"layer": "fc", "operator": "x / y"},
         "NaN or Inf first appears at step 7 in 'fc' at t.py:3: why"),
        ({"layer": "", "operator": "x / y", "reason": None},
         "NaN or Inf first appears at step 7 in the model at t.py:3: `x / y` returned it"),
        ({"layer": "fc", "operator": "x / y", "phase": "backward"},
         "NaN or Inf first appears at step 7 in the backward of 'fc' at t.py:3: why"),
        ({"operator": "x / y", "phase": "loss"},
         "NaN or Inf first appears at step 7 in the loss at t.py:3: why"),
    ],
)  # fmt: skip
def test_the_first_value_of_a_training_that_is_not_finite(more, text):
    given = dict.fromkeys(("layer", "operator", "found_by"))
    given |= {"record": "Net", "step": 7, "what": "loss", "phase": "forward", "place": "t.py:3"}
    given |= {"inputs": (), "reason": "why"}
    assert first_sentence(FirstNonFinite(**{**given, **more})) == text


# Orders, dtypes, verdicts


def test_the_order_of_hooks_is_that_of_their_events():
    events = tuple(
        EventRow(i, 0, "forward", kind, target, 0, None, 0)
        for i, (kind, target) in enumerate([("forward", "a"), ("tensor", "x"), ("forward", "b")])
    )
    made = replace(net("b", "a"), events=events)
    passed = only("firing_order", made, order=("a", "b"), kind="forward")
    assert (passed.status, passed.message) == (
        "pass", "forward hooks fired in the expected order (subsequence)",
    )  # fmt: skip
    assert only("firing_order", made, order=("a", "b")).status == "fail"
    streamed = replace(made, events=Streamed("events.jsonl", 3, 0))
    assert only("firing_order", streamed, order=("a",), kind="forward").message == (
        "the events were streamed to a file and are not in the report"
    )
    failed = only("firing_order", replace(made, error="any"), order=("a",))
    assert failed.message == "the run did not finish"


def test_a_dtype_is_that_of_all_tensors_of_its_kind():
    made = report(call("a", (1,), (2,)), call("b", (1,), (2,), dtype="float16"),
                  parameters=[("a.weight", 1, None)])  # fmt: skip
    outputs = only("dtype", made, part="output", dtype="float32")
    assert (outputs.target, outputs.place) == ("b", "train.py:12")
    assert only("dtype", made, part="parameter", dtype="float32").status == "pass"
    wrong = only("dtype", made, part="parameter", dtype="float16")
    assert (wrong.target, wrong.place) == ("a.weight", "train.py:11")


def test_a_verdict_is_about_the_worst_row():
    def rows(*statuses, **more):
        checks = tuple(
            CheckRow("finite", "", status, "error", None, None, "m", None, "f")
            for status in statuses
        )
        return replace(ONE, checks=checks, **more)

    for made, verdict in (
        (rows(), Verdict.PASSED), (rows("pass", "skip"), Verdict.PASSED),
        (rows("pass", "fail"), Verdict.FINDINGS), (rows("fail", "error"), Verdict.NOT_JUDGED),
        (rows("fail", "error", error="any"), Verdict.MODEL_FAILED),
    ):  # fmt: skip
        assert verdict_of(made, "error") is verdict


def test_what_does_not_exist_is_said_once():
    made = with_gradients(net("a", "b"), a=None)
    assert only("grad_exists", made).status == "pass"  # a backward pass ran
    row = Measurement("connected", "a", None, True, None)
    connected = replace(made, measurements=(row,))
    assert only("connected", connected, at=("a",)).status == "pass"
    for finding in (
        only("connected", connected, at=("zz",)),
        only("grad_share", made, at=("zz",), share=1.0),
        only("grad_exists", made, at=("zz",)),
    ):
        assert "matches 'zz'" in finding.message


def test_hooks_that_never_fired_are_those_that_the_run_found():
    row = CheckRow("hooks_fired", "a", "fail", "warning", 0, 1, "never fired", "c.yaml:3", "f")
    others = replace(row, status="pass"), replace(row, rule="hook_misuse")
    finding = only("hooks_fired", replace(ONE, checks=(row, *others)))
    assert (finding.target, finding.message, finding.place) == ("a", "never fired", "c.yaml:3")
    assert (finding.value, finding.limit, finding.severity) == (0, 1, "warning")
    assert only("hooks_fired", replace(ONE, checks=others)).status == "pass"


def test_hooks_are_looked_for_in_modules_that_only_contain_others():
    made = replace(net("a.x.y"), existing_hooks=())
    for at in ("a", "a.x", "a.x.y"):
        assert only("no_hooks", made, at=at).status == "pass"
    assert only("no_hooks", made, at="b").status != "pass"


def test_calls_are_named_below_their_caller_or_in_full():
    made = report(call("a", (1,), (1,)), call("a.x", (1,), (1,), parent=1),
                  call("b", (1,), (1,), parent=1), call("b.y", (1,), (1,), parent=3))  # fmt: skip
    assert callees(made) == {0: ["a"], 1: ["x", "b"], 2: [], 3: ["y"], 4: []}


@pytest.mark.parametrize(
    ("loss", "blind", "kind"),
    [(3.0, 3.0, None), (3.1, 3.0, None), (3.0, 3.1, None), (3.1, 3.1, "above chance"),
     (1.0, 2.0, None), (0.9, 2.0, "below chance"), (0.9, 0.95, None), (0.6, 0.95, "below chance"),
     (float("nan"), 9.0, None)],
)  # fmt: skip
def test_a_loss_starts_near_that_of_a_guess(loss, blind, kind):
    value = {"loss": loss, "chance": 2.0, "random": blind, "spread": 1.0, "targets": 100,
             "classes": 10}  # fmt: skip
    finding = initial_loss._term(ONE, Measurement("", "", None, value, None), 0, 0.5)
    assert (finding and finding.kind) == kind


def test_an_integer_output_may_not_change_at_all():
    value = {"dtype": "int64", "relative": 0.5, "output": "", "time": 3, "size": 6, "dim": 1}
    assert causal._verdict(ONE, value, None).status == "fail"
    assert causal._verdict(ONE, {**value, "relative": 0.0}, None).status == "pass"
    assert causal._verdict(ONE, value, 0.5).status == "pass"
    assert causal._verdict(ONE, value, 0.4).status == "fail"


def test_an_unregistered_parameter_has_the_place_of_its_module_or_of_the_model():
    def at(name):
        row = Measurement(unregistered_parameters.PROBE, name, None,
                          {"kind": "tensor", "count": 1}, None)  # fmt: skip
        made = replace(with_gradients(net("a")), measurements=(row,))
        made = replace(made, model=replace(made.model, place="net.py:1"))
        return only("unregistered_parameters", made).place

    assert [at("a.scale"), at("a"), at("other.scale")] == ["train.py:11", "train.py:10", "net.py:1"]
