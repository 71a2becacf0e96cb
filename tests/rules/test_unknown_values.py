"""What rules say of reports in which a value, a shape or a measurement is not known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookcli.report.distributed import Distributed
from hookcli.report.findings import Measurement
from hookcli.report.report import ErrorInfo
from hookcli.report.values import Leaf
from hookcli.rules.activations.measured import ONE_HOT, SATURATED
from hookcli.rules.finite import OPERATOR, SEEN
from hookcli.rules.judge_training import judge_training
from hookcli.rules.training.reading import reading
from hookcli.spec.checks import CheckSpec
from tests.comparison.reports import call, report
from tests.comparison.trainings import record
from tests.distributed.rows import bucket
from tests.formats.fabricate import event, parameter, stats
from tests.formats.training_reports import GAN, exploding, training
from tests.rules.judging import only
from tests.rules.test_given_reports import activations, bad, finite

NET = report(call("a", (1,), (2,)), parameters=[("a.weight", 1, None)])
RAISED = ErrorInfo("forward", "a", 0, (), "ValueError", "no", "net.py:3")


def said(rule, made, **options):
    """(status, message) of the only finding."""
    finding = only(rule, made, **options)
    return finding.status, finding.message


def measured(probe, value, target=""):
    """A report of a run with a loss of the model and one measurement."""
    made = replace(NET, measurements=(Measurement(probe, target, None, value, None),))
    return replace(made, run=replace(made.run, loss="nll_loss", losses=(1.0,)))


# A second run that failed


@pytest.mark.parametrize(
    ("rule", "probe", "value", "expected"),
    [
        ("deterministic", "repeat_eval", {"error": "E: x"},
         ("error", "the model could not be run again in eval mode: E: x")),
        ("causal", "causality", {"error": "E: x"},
         ("skip", "the model could not be run again in eval mode: E: x")),
        ("eval_stateless", "eval_forward", {"error": "E: x"},
         ("skip", "the model could not be run again in eval mode: E: x")),
        ("overfits_one_batch", "overfit", {"why": "no optimizer"}, ("skip", "no optimizer")),
        ("overfits_one_batch", "overfit", {"error": "E: x"},
         ("error", "the training on one batch failed: E: x")),
        ("overfits_one_batch", "other", {},
         ("skip", "the model was not trained on the batch")),
        ("update_ratio", "update", {"why": "fake tensors"}, ("skip", "fake tensors")),
        ("update_ratio", "update", {"error": "E: x", "place": "n.py:3"},
         ("error", "the optimizer step could not be measured: E: x")),
        ("frozen", "step", {"error": "E: x", "place": "n.py:3"},
         ("error", "the optimizer step failed: E: x")),
    ],
)  # fmt: skip
def test_a_measurement_that_failed_says_why(rule, probe, value, expected):
    made = measured(probe, value)
    rows = [replace(row, status="ok") for row in made.parameters]
    options = {"at": ("*",)} if rule == "frozen" else {}
    assert said(rule, replace(made, parameters=tuple(rows)), **options) == expected


def test_a_rule_for_parameters_that_no_glob_matches_is_not_judged():
    value = {"lr": 0.1, "optimizer": "SGD"}
    made = measured("update", value)
    rows = [replace(row, status="ok") for row in made.parameters]
    made = replace(made, parameters=tuple(rows))
    for rule in ("update_ratio", "frozen", "grad_norm"):
        assert said(rule, made, at=("zz",)) == ("error", "no parameter matches 'zz'")


def test_buffers_that_the_globs_do_not_match_may_change_in_eval_mode():
    made = measured("eval_forward", {"buffers": ["a.count"], "parameters": [], "tensors": 2})
    assert only("eval_stateless", made).target == "a.count"
    assert only("eval_stateless", made, at=("b.*",)).status == "pass"


# Norms


def with_gradients(*norms, total=None):
    """A report with gradients of these norms."""
    rows = tuple(
        parameter(f"a.{name}", (2,), grad=None if norm is None else stats(norm))
        for name, norm in zip("xyz", norms, strict=False)
    )
    return replace(NET, parameters=rows, totals=replace(NET.totals, grad_norm=total))


def test_the_norm_over_no_gradient_is_not_judged():
    assert said("grad_norm", with_gradients(None)) == ("skip", "no parameter got a gradient")


@pytest.mark.parametrize("norms", [("nan", 1.0), (0.0, 0.0)])
def test_a_share_of_norms_that_are_not_finite_or_zero_is_not_judged(norms):
    status, message = said("grad_share", with_gradients(*norms), at=("a.*",), share=1.0)
    assert (status, message) == ("skip", "the gradients have no finite norm, or all are zero")


@pytest.mark.parametrize("scale", [1.0, 1e200, 1e-200])
def test_a_share_is_that_of_the_squares(scale):
    made = with_gradients(3.0 * scale, 4.0 * scale)  # of 5
    finding = only("grad_share", made, at=("a.x",), share=0.6)
    assert (finding.status, finding.value) == ("pass", pytest.approx(0.6))


@pytest.mark.parametrize(("norm", "status"), [(None, "skip"), (0.5, "pass"), (2.0, "fail")])
def test_a_limit_of_clipping_is_compared_with_the_norm_of_one_step(norm, status):
    made = with_gradients(1.0, total=norm)
    made = replace(made, run=replace(made.run, loss="nll_loss", losses=(1.0,), steps=1))
    assert only("gradient_clipping", made, limit=1.0, least=1).status == status


@pytest.mark.parametrize("rule", ["gradient_clipping", "update_ratio"])
def test_gradients_of_a_loss_that_hookcli_made_are_not_judged(rule):
    made = measured("update", {"lr": 0.1, "optimizer": "SGD"})
    made = replace(made, run=replace(made.run, loss="probe"))
    options = {"limit": 1.0} if rule == "gradient_clipping" else {}
    assert said(rule, made, **options) == (
        "skip", "the run has no loss of your model: pass `--loss`"
    )  # fmt: skip


def test_only_the_firings_of_hooks_that_clip_are_counted():
    clips = {"hook": 1, "action": "clip", "limit": 0.5, "place": "c.yaml:3"}

    def firings(*changed):
        """Firings of the hook that clips, each beside one of another hook."""
        hooks = [(1, number) for number in changed] + [(2, 0) for _ in changed]
        return tuple(
            event(seq, "backward", "tensor", "a:output", 0, hook=hook, changed=number)
            for seq, (hook, number) in enumerate(hooks)
        )

    made = measured("clipping", clips)
    always = only("gradient_clipping", replace(made, events=firings(2, 2)), least=2)
    assert always.message == "clip 0.5 clips 'a:output' in all 2 firings"
    assert (always.place, always.value, always.limit) == ("c.yaml:3", 2, 2)
    rarely = only("gradient_clipping", replace(made, events=firings(2, 0)), least=2)
    assert rarely.message == "1 target with firings that are not clipped"


def test_a_frozen_parameter_neither_changes_nor_gets_a_gradient():
    rows = (parameter("a.x", (2,), "frozen"), parameter("a.y", (2,)))

    def verdict(changed, at):
        measurements = (Measurement("step", at, None, changed, None),)
        made = replace(NET, parameters=rows, measurements=measurements)
        return said("frozen", made, at=(at,))

    assert verdict(False, "a.x") == ("pass", "1 parameter did not learn")
    assert verdict(True, "a.x") == ("fail", "a.x changed in a step")
    assert verdict(False, "a.y") == ("fail", "a.y got a gradient")


# Values that are not finite


def second_run(**more):
    value = {
        "at": "operator", "reason": None, "facts": {}, "written": "x / y", "layer": "a",
        "phase": "forward", "node": None, "inputs": [], "from": None, "becomes_nan": None,
        "place": "net.py:5", "step": 0, "nans": 1, "infs": 0, "minus_infs": 0, **more,
    }  # fmt: skip
    return Measurement(OPERATOR, "a", None, value, None)


def test_an_operator_that_only_the_second_run_found_is_told():
    finding = only("finite", finite(second_run()))
    assert (finding.target, finding.kind, finding.place) == ("a", "operator", "net.py:5")
    assert finding.message.startswith("NaN first appears in 'a' at net.py:5: `x / y` returned it")


def test_inputs_without_a_known_range_are_said_to_be_finite():
    given = second_run(inputs=[{"name": "x"}])
    assert "(finite inputs)" in only("finite", finite(given)).message
    tensor = {"dtype": "float32", "shape": [2], "finite": True, "min": 1.0, "max": 2.0}
    given = second_run(inputs=[tensor])
    text = only("finite", finite(given)).message
    assert "(finite inputs: float32 [2] from 1 to 2)" in text


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"reason": "buffer", "facts": {"name": "a.mean"}}, "the buffer a.mean"),
        ({"reason": "parameter", "facts": {"name": "a.weight"}}, "the parameter a.weight"),
        ({"reason": "input"}, "the batch"),
        ({"reason": None}, "`x.log()` at net.py:2"),
    ],
)  # fmt: skip
def test_a_value_comes_from_what_held_it(source, words):
    written = "x.log()" if source["reason"] is None else ""
    origin = second_run(written=written, place="net.py:2", **source).value
    given = second_run(**{"from": origin, "reason": "of_nan"})
    assert f"; the NaN comes from {words}" in only("finite", finite(given)).message


def test_a_buffer_that_was_not_measured_is_told_by_the_second_run():
    row = second_run(reason="buffer", facts={"name": "a.mean"}, written="", at="buffer")
    assert "the buffer contains it before the run" in only("finite", finite(row)).message
    kept = finite(row, bad("buffer", "a.mean", 0))
    assert only("finite", kept).target == "a.mean"


def test_a_mask_is_what_made_a_gradient_that_is_not_finite():
    mask = bad("output", "a", 1, nans=0, minus_infs=1)
    gradient = bad("gradient", "b", 2, taken_by=[])
    assert only("finite", finite(mask, gradient)).target == "a"
    assert only("finite", finite(mask, bad("output", "b", 2))).target == "b"


def test_a_gradient_of_a_parameter_is_told_if_layers_were_not_read():
    row = replace(parameter("a.weight", (2,), "non_finite"), name="a.weight")
    made = replace(NET, parameters=(row,))
    assert said("finite", made) == ("fail", "the gradient of a.weight is not finite")
    read = replace(made, measurements=(Measurement(SEEN, "", None, 9, None),))
    assert said("finite", read)[1].endswith(", but the gradients at the layers are")


def test_the_first_value_names_its_record_if_there_are_several():
    checks = (CheckSpec("finite", {}),)
    one = exploding(20)
    several = replace(one, records=(*one.records, *GAN.records))
    targets = [
        next(row.target for row in judge_training(made, checks).checks if row.status == "fail")
        for made in (one, several)
    ]
    assert targets == ["fc2", "Net: fc2"]


@pytest.mark.parametrize(("only_failures", "rows"), [(False, 1), (True, 0)])
def test_a_script_that_trained_nothing_is_told_unless_only_failures_count(only_failures, rows):
    check = CheckSpec("optimizer_steps", {}, only_failures=only_failures)
    assert len(judge_training(training(), (check,)).checks) == rows


def test_a_report_without_steps_is_read_as_it_is():
    assert reading(NET, GAN) is NET


# Shapes and dtypes


def test_a_module_that_did_not_run_before_an_error_has_no_shape():
    made = replace(NET, error=RAISED)
    for rule in ("output_shape", "input_shape"):
        assert said(rule, made, at="zz", shape=(1,)) == ("skip", "the run did not finish")
    skip = said("dtype", made, at="zz", dtype="float32")
    assert skip == ("skip", "the run did not finish")


def test_a_size_that_depends_on_the_data_has_no_name():
    leaf = Leaf("", (None, 4), "float32")
    made = replace(NET, layers=tuple(replace(row, outputs=(leaf,)) for row in NET.layers))
    finding = only("output_shape", made, at="a", shape=("B", 4))
    assert finding.message == (
        "output of a (Linear) has shape [*, 4]: the size of dimension 0 depends on the data"
    )
    assert only("output_shape", made, at="a", shape=("*", 4)).status == "pass"


def test_a_shape_that_is_wrong_in_two_calls_is_told_once():
    calls = [call("a", (1,), (2,), call=number) for number in (0, 1)]
    finding = only("output_shape", report(*calls), at="a", shape=(3,))
    assert finding.message == (
        "output[0] of a (Linear) has shape [2]: dimension 0 is 2, expected 3"
    )


@pytest.mark.parametrize(
    ("shape", "more", "status"),
    [
        ((4,), {}, "pass"),
        ((None, 4), {}, "pass"),
        ((1, 4, 8), {}, "fail"),
        ((2, 4), {}, "pass"),
        ((1, 4, 8), {"training": False}, "skip"),
    ],
)
def test_a_batch_norm_whose_batch_is_not_known_is_not_judged(shape, more, status):
    made = report(call("bn", (1,), (1,), type="BatchNorm1d", **more))
    rows = [replace(row, inputs=(Leaf("[0]", shape, "float32"),)) for row in made.layers]
    made = replace(made, layers=tuple(rows))
    assert only("batch_norm_single", made, at="bn").status == status


def test_a_batch_norm_that_does_not_exist_is_not_judged():
    assert said("batch_norm_single", NET, at="zz") == ("error", "no module matches 'zz'")


# Two reports


def same(now, then, **options):
    return only("same_as", now, report="then.json", saved=then, **options)


def test_a_report_that_was_not_read_is_not_compared():
    finding = same(NET, None)
    assert (finding.status, finding.message) == ("error", "then.json was not read")


def test_a_new_gradient_and_a_new_call_are_told():
    before = replace(with_gradients(None), totals=NET.totals)
    finding = same(with_gradients(0.5), before)
    assert finding.message == (
        "in backward, gradients first differ at a (Linear): a.x gets a gradient of norm 0.5, "
        "it got none"
    )
    calls = call("a", (1,), (2,)), call("b", (1,), (2,))
    longer = report(*calls, parameters=[("a.weight", 1, None)])
    finding = same(longer, NET)
    assert (finding.kind, finding.message) == ("calls", "3 calls, expected 2")


# Several ranks


def distributed(error=None, parallel="ddp", **more):
    own = Distributed("gloo", parallel, 2, "allreduce", {}, **more)
    return replace(NET, distributed=own, error=error)


@pytest.mark.parametrize("rule", ["buckets", "comm_hook_error"])
def test_buckets_of_a_run_that_did_not_finish_are_not_judged(rule):
    made = distributed(RAISED, buckets=(bucket(),))
    assert said(rule, made) == ("skip", "the run did not finish")


def test_ranks_of_fsdp_have_different_parts():
    assert said("ranks_agree", distributed(parallel="fsdp")) == (
        "skip", "FSDP gives each rank a different part of the parameters"
    )  # fmt: skip


# Globs and words


def test_activations_that_the_globs_do_not_match_may_be_saturated():
    value = {"function": "sigmoid", "flat": 90, "stuck": 0, "values": 100, "output": False,
             "dtype": "float32", "after": None}  # fmt: skip
    made = activations(SATURATED, ("a", value), probes=(ONE_HOT,))
    assert only("saturated_activation", made).status == "fail"
    assert only("saturated_activation", made, at=("b",)).status == "pass"


def test_parameters_in_no_optimizer_are_counted_by_their_modules():
    made = record([1.0], {"a.weight": 0.5, "b.weight": 0.5})
    unheld = ("a.weight", "b.weight", "scale")
    made = replace(made, training=replace(made.training, unheld=unheld))
    assert only("unheld_parameters", made).message == (
        "3 parameters of 'a', 'b' and 1 more are trainable, but in no optimizer: "
        "no step changes them"
    )
    one = only("unheld_parameters", made, at=("a.*",))
    assert one.message.startswith("'a.weight' is trainable, but in no optimizer")


def test_only_the_parameters_of_the_globs_must_be_tied():
    made = with_gradients(1.0, 1.0, 1.0)
    assert only("tied_weights", made, at=("a.x", "a.y")).target == "a.x"
    assert only("tied_weights", made, at=("a.x",)).message == "1 name of 1 parameter"


@pytest.mark.parametrize("origin", ["made in forward", "Holder"])
def test_parameters_that_are_not_registered_say_where_they_are(origin):
    made = measured("unregistered", {"kind": origin, "count": 1}, "a.x")
    rows = [replace(row, status="ok") for row in made.parameters]
    message = only("unregistered_parameters", replace(made, parameters=tuple(rows))).message
    place = (
        "that 'a.x' uses is made in forward"
        if origin == "made in forward"
        else "'a.x' (Holder) has"
    )
    assert place in message


def test_a_loss_is_expected_near_that_of_its_classes():
    made = measured("other", {})
    expected = {"classes": 10}  # ln 10 = 2.303
    assert only("initial_loss", made, **expected).kind == "below chance"
    near = replace(made, run=replace(made.run, losses=(2.3,)))
    assert only("initial_loss", near, **expected).status == "pass"
    assert said("initial_loss", replace(made, run=replace(made.run, losses=())), **expected) == (
        "skip", "no backward pass ran"
    )  # fmt: skip
    synthetic = replace(made, run=replace(made.run, loss="probe"))
    assert only("initial_loss", synthetic, **expected).status == "skip"
