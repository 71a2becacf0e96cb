"""Arguments of the Python API: wrong ones are refused in words, before anything runs."""

from __future__ import annotations

import inspect
import math
import sys
import traceback
from collections import Counter

import numpy
import pytest
import torch
from torch import nn

import hookcli
from hookcli.errors import HookcliError, RequestError

X = torch.linspace(-1, 1, 8).view(2, 4)
OPTIMIZER = "optimizer must be an optimizer of torch.optim or a sequence of them, got int"
EXPECTED = [  # function, argument, value, message
    ("inspect", "mode", "training", "mode must be one of train, eval, as-is, got 'training'"),
    (
        "inspect",
        "seed",
        True,
        "seed must be an integer of at least 0, got true",
    ),
    ("inspect", "grad", "no", "grad must be True or False, got 'no'"),
    ("inspect", "config", {"hooks": []}, "config must be a path, got dict"),
    ("grads", "steps", 0, "steps must be an integer of at least 1, got 0"),
    ("grads", "loss", X, "loss must be a string or a function, got Tensor"),
    ("grads", "loss", "msee", "unknown loss 'msee'"),
    (
        "trace",
        "kinds",
        ["forward"],
        'kinds must be a string such as "forward,full_backward", got list',
    ),
    ("attach", "command", "check", "command must be one of trace, grads, inspect, got 'check'"),
    ("attach", "optimizer", [3], OPTIMIZER),
    ("attach", "scaler", 3, "scaler must be a torch.amp.GradScaler, got int"),
    ("attach", "stream", 3, "stream must be a path, got int"),
    ("check", "config", X, "config must be a path, a sequence or a mapping, got Tensor"),
    ("check", "config", [X], "checks[0] must be plain data, got Tensor"),
    ("check", "config", {"run": {"seed": object()}}, "run.seed must be plain data, got object"),
    ("check", "fail_on", "errors", "fail_on must be one of error, warning, never, got 'errors'"),
    ("check", "rules", [3], "rules must be a string or a sequence of strings, got int"),
    ("diff", "b", 3, "expected an nn.Module, got int"),
    ("diff", "tolerances", math.nan, "tolerances must be numbers of at least 0, got nan"),
    ("diff", "tolerances", {3: 1}, "each key of tolerances must be a string, got int"),
    ("diff", "grads", 3, "grads must be True or False, got 3"),
    ("list_hooks", "optimizer", 3, OPTIMIZER),
    (
        "remove_hooks",
        "module",
        None,
        "module must be a string or a sequence of strings, got NoneType",
    ),
]
ODD = (
    None, 3, -1, 2**70, 1.5, math.nan, "x", "", b"x", [], [3], {}, {3: 4}, {"finite"}, object(),
    X, torch.tensor(2), numpy.int64(2), numpy.bool_(True), len, nn.Linear, nn.Linear(4, 4),
)  # fmt: skip
BATCHES = {"inspect", "grads", "trace", "diff"}


def call(of_api, model, /, **more):
    more = {**({"batch": X} if of_api in BATCHES else {}), **more}
    more = {**({"inputs": X} if of_api == "check" else {}), **more}
    more = {**({"b": model} if of_api == "diff" else {}), **more}
    return getattr(hookcli, of_api)(model, **more)


@pytest.mark.parametrize(("function", "argument", "value", "message"), EXPECTED)
def test_a_wrong_argument_is_refused(function, argument, value, message):
    with pytest.raises(RequestError) as refused:
        call(function, nn.Linear(4, 2), **{argument: value})
    assert refused.value.message == message
    assert refused.value.hint


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tracebacks have no notes")
def test_a_traceback_shows_the_place_and_the_hint():
    with pytest.raises(RequestError) as refused:
        hookcli.inspect(nn.Linear(4, 2), X, mode="training")
    assert traceback.format_exception_only(refused.value) == [
        "hookcli.errors.RequestError: mode must be one of train, eval, as-is, got 'training'\n",
        "  --> mode\n",
        "hint: try `train`\n",
    ]


def test_a_list_that_contains_itself_is_refused():
    checks = ["finite"]
    checks.append(checks)
    with pytest.raises(RequestError, match="nested deeper than 40 levels"):
        hookcli.check(nn.Linear(4, 2), checks, inputs=X)


@pytest.mark.parametrize("function", hookcli.__all__[1:])
def test_any_argument_gives_a_result_or_an_error_of_hookcli(function, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = nn.Linear(4, 2)
    names = [*inspect.signature(getattr(hookcli, function)).parameters][1:]
    outcomes = Counter()
    for name in names:
        for value in ODD:
            try:
                result = call(function, model, **{name: value})
                if function == "attach":
                    with result:
                        model(X)
                outcomes[name, "result"] += 1
            except HookcliError as error:
                assert error.message
                assert error.hint
                outcomes[name, "error"] += 1
    assert {name for name, _ in outcomes} == set(names)


def test_numbers_of_other_libraries_are_numbers():
    model = nn.Linear(4, 2)
    report = hookcli.grads(model, X, steps=numpy.int64(2), seed=torch.tensor(3))
    assert (report.run.steps, report.run.seed) == (2, 3)
    shape = [numpy.int64(2), torch.tensor(2)]
    checked = hookcli.check(model, [{"rule": "output_shape", "shape": shape}], inputs=X)
    assert checked.passed, checked.message()
    assert hookcli.diff(model, model, X, tolerances=numpy.float32(0.5)).same


def test_one_rule_may_be_a_string():
    report = hookcli.check(nn.Linear(4, 2), inputs=X, rules="finite")
    assert {row.rule for row in report.checks} == {"finite"}
