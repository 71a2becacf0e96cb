"""Whole findings of rules about the model, on reports that are given; limits from both sides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookcli.report.findings import Measurement
from hookcli.report.report import Inputs, UncalledRow
from hookcli.rules.catalogue import CATALOGUE
from hookcli.rules.rule import RuleFinding
from tests.comparison.reports import call, report
from tests.distributed.rows import bucket, of_rank
from tests.rules.judging import found, only

CALLS = call("a", (1,), (2,)), call("b", (1,), (2,))
NET = report(*CALLS, parameters=[("a.weight", 1, None), ("b.weight", 1, None)], place="net.py:1")


def passes(message, value=None, limit=None):
    return [RuleFinding("pass", "", "", message, value, limit)]


def measured(*rows):
    """The net with measurements (probe, value)."""
    made = tuple(Measurement(probe, "", None, value, None) for probe, value in rows)
    return replace(NET, measurements=made)


# Samples of a batch


def samples(**more):
    value = {"dtype": "float32", "relative": 0.5, "output": "[0]", "sample": 1, "dim": 0,
             "samples": 4, **more}  # fmt: skip
    return measured(("samples", value))


def test_samples_that_are_coupled_are_told():
    message = (
        "output[0] of sample 1 changes by 0.5 of its largest value if the other samples are "
        "replaced (batch dimension 0)"
    )
    expected = RuleFinding("fail", "", "samples are coupled", message, 0.5, 3.5e-4, "net.py:1")
    assert found("batch_independent", samples()) == [expected]


@pytest.mark.parametrize(
    ("dtype", "limit"),
    [
        ("float64", 1.5e-8), ("complex128", 1.5e-8), ("float32", 3.5e-4), ("complex64", 3.5e-4),
        ("float16", 3.2e-2), ("bfloat16", 8.9e-2), ("int64", 0.0),
    ],
)  # fmt: skip
def test_samples_are_coupled_by_more_than_rounding(dtype, limit):
    message = "4 samples along dimension 0 do not affect each other"
    made = samples(dtype=dtype, relative=limit)
    assert found("batch_independent", made) == passes(message, limit, limit)
    made = samples(dtype=dtype, relative=1.01 * limit or 1e-300)
    assert only("batch_independent", made).status == "fail"
    assert only("batch_independent", made, tolerance=0.1).status == "pass"
    made = samples(dtype=dtype, relative="nan")
    assert only("batch_independent", made, tolerance=0.1).status == "fail"


def test_samples_that_could_not_be_replaced_are_not_judged():
    for value, message in (
        ({"error": "E: x"}, "the model could not be run again in eval mode: E: x"),
        ({"why": "one sample"}, "one sample"),
    ):
        skip = RuleFinding("skip", "", "", message)
        assert found("batch_independent", measured(("samples", value))) == [skip]


@pytest.mark.parametrize(
    ("origin", "shapes", "status"),
    [
        ("inferred", [(4, 8)], "fail"), ("inferred", [(4,)], "skip"), ("inferred", [None], "skip"),
        ("inferred", [(4, 8), (4, 8)], "skip"), ("given", [(4,)], "fail"),
    ],
)  # fmt: skip
def test_dimension_0_of_an_inferred_batch_may_count_nodes(origin, shapes, status):
    args = [{} if shape is None else {"shape": [*shape]} for shape in shapes]
    for inputs in (
        Inputs(origin, args=args, kwargs={}),
        Inputs(origin, args=args[1:], kwargs={"x": args[0]}),
    ):
        made = replace(samples(), inputs=inputs)
        assert only("batch_independent", made).status == status
        assert only("batch_independent", made, dim=0).status == "fail"


@pytest.mark.parametrize(
    ("origin", "time_first", "status"),
    [("inferred", True, "skip"), ("inferred", False, "fail"), ("declared", True, "fail")],
)
def test_an_inferred_batch_may_be_one_sequence(origin, time_first, status):
    mixing = {"kind": "mixes", "function": "lstm", "name": "rnn", "module": "LSTM", "dim": 0,
              "shape": [4, 1, 8], "time_first": time_first, "place": None}  # fmt: skip
    inputs = Inputs(origin, args=[{"shape": [4, 8]}], kwargs={})
    made = replace(samples(mixing=mixing), inputs=inputs)
    assert only("batch_independent", made).status == status


# Buckets of gradients

TWO = (bucket(index=0, names=("fc.weight",)), bucket(index=1, names=("fc.bias",), bytes=128))


def buckets(*rows, **options):
    return found("buckets", of_rank(buckets=rows), **options)


def test_parameters_that_are_not_in_one_bucket_are_told():
    message = "no bucket contains fc.weight, fc.bias: their gradients are not averaged"
    assert buckets(bucket(names=("table",))) == [
        RuleFinding("fail", "fc.weight", "missing", message, 2, 0, "net.py:3")
    ]
    message = "several buckets of one step contain fc.weight, fc.bias"
    assert buckets(bucket(), bucket(), bucket(names=("table",))) == [
        RuleFinding("fail", "fc.weight", "again", message, 2, 0, "net.py:3")
    ]


def test_buckets_stay_within_their_limits():
    sent = (replace(TWO[0], wire_bytes=None), replace(TWO[1], wire_bytes=64, plain_bytes=128))
    message = "2 buckets of 192 bytes contain every gradient"
    assert buckets(*sent, count=2, bytes=128, sent=0.5) == passes(message)
    assert buckets(*sent, count=1, bytes=127, sent=0.25) == [
        RuleFinding("fail", "", kind, f"{words}, which exceeds the limit of {limit}", value, limit)
        for kind, words, value, limit in (
            ("count", "a step has 2 buckets", 2, 1),
            ("bytes", "bucket 1 has 128 bytes", 128, 127),
            ("sent", "a step sends 0.33 of the bytes of plain all-reduce", 0.3333, 0.25),
        )
    ]
    assert buckets(bucket(plain_bytes=0), sent=0) == passes(
        "1 bucket of 64 bytes contains every gradient"
    )


def test_only_the_last_step_is_judged():
    first, last = [bucket(step=1)] * 2, [replace(row, step=2) for row in TWO]
    assert buckets(*last, *first)[0].status == "pass"
    assert buckets(*first)[0].kind == "again"


# Errors of communication hooks


def errors(*values, limit=0.01):
    rows = [bucket(step=i, error=value) for i, value in enumerate(values)]
    return found("comm_hook_error", of_rank(buckets=rows), limit=limit)


def test_the_worst_error_of_a_hook_is_told():
    message = "allreduce averaged 3 buckets with an error of at most 0.01"
    assert errors(0.005, 0.01, 0.002) == passes(message, 0.01, 0.01)
    message = (
        "allreduce differs from the exact average by {} of its norm in bucket 0 of step {} "
        "(fc.weight, fc.bias){}"
    )
    for values, words in (
        ((0.0, 0.011, 0.01), ("0.011", 1, "")),
        ((0.5, 0.75, 0.0), ("0.75", 1, ", and 2 of 3 buckets exceed the limit")),
        ((0.5, None, 0.0), ("inf", 1, ", and 2 of 3 buckets exceed the limit")),
        ((None, 0.5, "nan"), ("nan", 2, ", and 3 of 3 buckets exceed the limit")),
    ):
        assert errors(*values) == [
            RuleFinding("fail", "", "error", message.format(*words), values[words[1]], 0.01)
        ]


# Two runs


def test_runs_that_differ_are_told_for_each_mode():
    same = {"compared": 3, "differ": []}
    differ = {"compared": 3, "differ": ["output[0]", "output[1]"], "largest": 0.25}
    both = {"modes": ("eval", "train")}

    def judged(*values, **options):
        rows = zip(("repeat_eval", "repeat_train"), values, strict=False)
        return found("deterministic", measured(*((p, v) for p, v in rows if v)), **options)

    message = (
        "two runs in {} mode with the same seed differ in output[0], output[1], by up to 0.25 of "
        "the largest value"
    )
    fails = [
        RuleFinding("fail", "", f"differs in {mode}", message.format(mode), 2, 0, "net.py:1")
        for mode in ("eval", "train")
    ]
    message = "two runs with the same seed are bitwise equal: 3 tensors in {} mode"
    assert judged(same) == passes(message.format("eval"), limit=0)
    assert judged(same, same, **both) == passes(
        f"{message.format('eval')}, 3 tensors in train mode", limit=0
    )
    assert judged(None, same, **both) == passes(message.format("train"), limit=0)
    assert judged(differ, differ, **both) == fails
    assert judged(same, differ, **both) == fails[1:]
    assert judged(differ, same, **both) == fails[:1]
    assert judged(same, differ) == passes(message.format("eval"), limit=0)
    failed = {"error": "E: x", "place": "net.py:7"}
    message = "the model could not be run again in train mode: E: x"
    error = RuleFinding("error", "", "train failed", message, None, None, "net.py:7")
    assert judged({"why": "fake"}, failed, **both) == [RuleFinding("skip", "", "", "fake"), error]


# Data types


def test_each_tensor_of_another_dtype_is_told_once():
    calls = [
        call("a", (1,), (2,), dtype="int64"), call("b", (1,), (2, 3), dtype="float16"),
        call("b", (1,), (2,), dtype="float16", call=1), call("c", (1,), (2,), dtype="bfloat16"),
        call("d", (1,), (2,), dtype="complex64"),
    ]  # fmt: skip
    made = report(*calls, parameters=[("a.weight", 1, None)])

    def wrong(target, number, dtype, row):
        message = f"output[{number}] of {target} (Linear) is {dtype}, expected float32"
        place = f"train.py:{10 + row}"
        return RuleFinding("fail", target, f"output[{number}]", message, dtype, "float32", place)

    assert found("dtype", made, dtype="float32") == [
        wrong("b", 0, "float16", 2), wrong("b", 1, "float16", 2), wrong("c", 0, "bfloat16", 4)
    ]  # fmt: skip
    for dtype, at, count in (
        ("float16", "b", "3 tensors"), ("int64", "*", "1 tensor"), ("complex64", "*", "1 tensor")
    ):  # fmt: skip
        assert found("dtype", made, dtype=dtype, at=at) == passes(
            f"{count} of dtype {dtype}", limit=dtype
        )
    wrong_input = only("dtype", made, dtype="int32", part="input")
    assert (wrong_input.target, wrong_input.kind) == ("a", "input[0]")
    for dtype, noun in (
        ("float32", "floating-point tensor"), ("complex64", "complex tensor"),
        ("int64", "integer or Boolean tensor"),
    ):  # fmt: skip
        message = f"no {noun} matches 'zz'"
        expected = RuleFinding("error", "zz", "no match", message)
        assert found("dtype", made, dtype=dtype, at="zz") == [expected]
    message = "a.weight is float32, expected float64"
    expected = RuleFinding(
        "fail", "a.weight", "parameter", message, "float32", "float64", "train.py:11"
    )
    assert found("dtype", made, dtype="float64", part="parameter") == [expected]


# Budgets


def costing(**figures):
    """The net with these figures, of the model or of all calls."""
    totals = {name: figures.pop(name) for name in ("macs", "flops", "activation_bytes", "calls")
              if name in figures}  # fmt: skip
    return replace(NET, model=replace(NET.model, **figures), totals=replace(NET.totals, **totals))


@pytest.mark.parametrize(
    ("limit", "exact", "message"),
    [
        (1420, False, None), (1420, True, None), (1421, False, None),
        (1419, False, "{} exceed the limit of 1,419 by 0.1%"),
        (0, False, "{} exceed the limit of 0"),
        (1419, True, "{}, expected 1,419 (1 more)"),
        (3000, True, "{}, expected 3,000 (1,580 fewer)"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("name", "noun"),
    [
        ("parameters", "parameters"), ("trainable_parameters", "trainable parameters"),
        ("parameter_bytes", "bytes of parameters"), ("buffer_bytes", "bytes of buffers"),
        ("macs", "multiply-adds in a forward"), ("flops", "FLOPs in a forward"),
        ("activation_bytes", "bytes of activations in a forward"), ("calls", "calls of modules"),
    ],
)  # fmt: skip
def test_a_figure_has_a_limit(name, noun, limit, exact, message):
    made = costing(**{name: 1420})
    text = f"1,420 {noun}"
    expected = passes(f"1,420 of {limit:,} {noun}")
    if message is not None:
        text = message.format(text)
        expected = [RuleFinding("fail", "", name, text, 1420, limit, "net.py:1")]
    assert found("budget", made, exact=exact, **{name: limit}) == expected


def test_figures_that_are_not_known_cannot_be_judged():
    made = costing(macs=None, flops=None, parameter_bytes=None, parameters=5)
    unknown = "unknown: pass `--flops` to count them"
    assert found("budget", made, macs=1, flops=2, parameter_bytes=3, parameters=5) == [
        RuleFinding(
            "error", "", f"{name} unknown", f"the {noun} are {why}", None, limit, "net.py:1"
        )
        for name, noun, why, limit in (
            ("parameter_bytes", "bytes of parameters", "unknown", 3),
            ("macs", "multiply-adds in a forward", unknown, 1),
            ("flops", "FLOPs in a forward", unknown, 2),
        )
    ]
    assert found("budget", made, parameters=5, calls=None) == passes("5 of 5 parameters")
    message = (
        "missing a limit: choose from parameters, trainable_parameters, parameter_bytes, "
        "buffer_bytes, macs, flops, activation_bytes, calls"
    )
    assert found("budget", made) == [RuleFinding("error", "", "no limit", message)]


def test_figures_within_their_limits_are_told_together():
    made = costing(parameters=5, calls=2)
    message = "5 of 6 parameters; 2 of 2 calls of modules"
    assert found("budget", made, parameters=6, calls=2) == passes(message)
    assert found("budget", NET, at="[ab]", parameters=2, calls=1) == passes(
        "2 modules within the limits of parameters, calls of modules"
    )
    assert found("budget", NET, at="a", parameters=2) == passes("a: 2 of 2 parameters")


def test_the_place_of_a_part_is_that_of_its_call_or_of_the_first_call_inside():
    calls = call("hx", (1,), (2,)), call("h.0", (1,), (2,)), call("h.1", (1,), (2,))
    made = report(*calls, parameters=[("h.0.weight", 1, None), ("h.1.weight", 1, None)])

    def over(target, count, place):
        message = f"{count} parameters in {target} exceed the limit of 1 by {count - 1}00.0%"
        return RuleFinding("fail", target, "parameters", message, count, 1, place)

    assert found("budget", made, at="h*", parameters=1) == [
        over("h.0", 2, "train.py:12"), over("h.1", 2, "train.py:13"), over("h", 4, "train.py:12")
    ]  # fmt: skip
    without = replace(made, layers=tuple(replace(row, place=None) for row in made.layers))
    assert [one.place for one in found("budget", without, at="h", parameters=1)] == [None]
    expected = RuleFinding("error", "zz", "no match", "no module matches 'zz'")
    assert found("budget", made, at="zz", parameters=1) == [expected]


def test_the_cost_of_a_module_is_that_of_its_calls_with_their_callees():
    calls = [call("a", (1,), (2,)), call("a.x", (1,), (2,), parent=1), call("b", (1,), (2,))]
    made = report(*calls, parameters=[("a.x.weight", 1, None), ("a.y.weight", 1, None)])
    costs = ((0, 0), (1, 2), (10, 20), (100, 200))
    rows = [
        replace(row, macs=macs, flops=flops)
        for row, (macs, flops) in zip(made.layers, costs, strict=True)
    ]
    again = replace(rows[2], order=9, parent=3, call=1)
    frozen = replace(made.parameters[1], requires_grad=False)
    uncalled = UncalledRow("a.y", "Linear", None), UncalledRow("c", "ReLU", None)
    made = replace(made, layers=(*rows, again), parameters=(made.parameters[0], frozen),
                   uncalled=uncalled)  # fmt: skip
    for at, figures in (
        ("a", {"macs": 11, "flops": 22, "calls": 1, "parameters": 4, "trainable_parameters": 2}),
        ("b", {"macs": 110, "flops": 220, "calls": 1, "parameters": 0}),
        ("a.x", {"macs": 20, "flops": 40, "calls": 2, "parameters": 2}),
        ("a.y", {"calls": 0, "parameters": 2, "trainable_parameters": 0}),
        ("c", {"calls": 0, "parameters": 0}), ("", {"macs": 121, "calls": 1, "parameters": 4}),
    ):  # fmt: skip
        [finding] = found("budget", made, at=at, exact=True, **figures)
        assert finding.status == "pass", finding.message


@pytest.mark.parametrize(
    ("given", "probes"), [("macs", ("flops",)), ("flops", ("flops",)), ("parameters", ())]
)
def test_operators_are_counted_if_a_limit_needs_it(given, probes):
    rule = CATALOGUE["budget"]
    assert tuple(r.name for r in rule.needs(rule.filled({given: 0}))) == probes
