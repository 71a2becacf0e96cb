"""`run`, `preset`, `checks` and `fail_on`: what they become, and what is refused."""

# ruff: noqa: E501  # a case is a line

from __future__ import annotations

import pytest

from hookcli.spec.checks import CheckSpec
from hookcli.spec.hooks import OPTIMIZERS, BackwardSpec, OptimizerSpec
from hookcli.spec.request import DistributedSpec, RunSpec
from hookcli.spec.what_if import WhatIf


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mode: as-is", {"mode": "as-is"}),
        ("seed: 7", {"seed": 7}),
        ("loss: mean", {"loss": "mean"}),
        ("loss: 'output:loss'", {"loss": "output:loss"}),
        ("loss: 'output:[1].a'", {"loss": "output:[1].a"}),
        ("steps: 3", {"steps": 3}),
        ("optimizer: {name: SGD, lr: 1e-1}", {"optimizer": OptimizerSpec("SGD", {"lr": 0.1})}),
        ("optimizer: {lr: 1e-1}", {"optimizer": OptimizerSpec("SGD", {"lr": 0.1})}),
        ("optimizer: AdamW", {"optimizer": OptimizerSpec("AdamW", {})}),
        (
            "optimizer: {name: Adam, betas: [0.9, 0.99]}",
            {"optimizer": OptimizerSpec("Adam", {"betas": [0.9, 0.99]})},
        ),
        (
            "backward: {times: 2, retain_graph: true}",
            {"backward": BackwardSpec(times=2, retain_graph=True)},
        ),
        (
            "backward: {gradient: [[1, 0.5]], create_graph: true}",
            {"backward": BackwardSpec(gradient=[[1, 0.5]], create_graph=True)},
        ),
        (
            "backward: {gradient: '2x10:float32:ones'}",
            {"backward": BackwardSpec(gradient="2x10:float32:ones")},
        ),
        ("backward: {inputs: 'fc.*'}", {"backward": BackwardSpec(inputs=("fc.*",))}),
        (
            "backward: {inputs: ['*.weight', 'fc:output']}",
            {"backward": BackwardSpec(inputs=("*.weight", "fc:output"))},
        ),
        ("batch_size: 8", {"batch_size": 8}),
        ("device: cuda:1", {"device": "cuda:1"}),
        ("dtype: bf16", {"dtype": "bfloat16"}),
        ("tensors: real", {"tensors": "real"}),
        ("no_grad: true", {"grad": False}),
        ("no_grad: false", {"grad": True}),
        ("timeout: 60", {"timeout": 60.0}),
        ("max_memory: 2.5", {"max_memory": 2_500_000_000}),
        ("flops: true", {"flops": True}),
        ("verify_neutral: true", {"verify_neutral": True}),
        ("memory: true", {"memory": True}),
        ("what_if: [batch=3]", {"what_if": (WhatIf("batch=3", batch=3),)}),
        (
            "what_if: 'optimizer=SGD, momentum=0.5'",
            {
                "what_if": (
                    WhatIf(
                        "optimizer=SGD, momentum=0.5",
                        optimizer=OptimizerSpec("SGD", {"momentum": 0.5}),
                    ),
                )
            },
        ),
        ("distributed: {nproc: 2}", {"distributed": DistributedSpec(2, "ddp")}),
    ],
)
def test_run_has_the_names_of_runspec(read, text, expected):
    run = read(f"run:\n  {text}\n").run
    assert run == expected
    RunSpec(**run)


def test_files_in_run_come_out_absolute(read, folder):
    assert read("run: {loss: 'my_loss.py:loss'}").run == {"loss": f"{folder}/my_loss.py:loss"}


@pytest.mark.parametrize(
    ("text", "message", "path", "hint"),
    [
        (
            "mode: trian",
            "mode must be one of train, eval, as-is, got 'trian'",
            "mode",
            "try `train`",
        ),
        (
            "seed: -1",
            "seed must be an integer of at least 0, got -1",
            "seed",
            "such as 1",
        ),
        (
            "seed: 9223372036854775808",
            "seed must be an integer between 0 and 9223372036854775807, got 9223372036854775808",
            "seed",
            "write a smaller integer",
        ),
        (
            "seed: 1.0",
            "seed must be an integer of at least 0, got 1.0",
            "seed",
            "such as 1",
        ),
        ("loss: sume", "unknown loss 'sume'", "loss", "try `sum`"),
        ("loss: 'output:a['", "'.a[' is not a path within the output", "loss", "output:loss"),
        (
            "loss: 'my_los.py:loss'",
            "file not found: my_los.py",
            "loss",
            "try `my_loss.py`",
        ),
        ("steps: 0", "steps must be an integer of at least 1, got 0", "steps", "such as 1"),
        ("optimizer: Sgd", "unknown optimizer 'Sgd'", "optimizer", "try `SGD`"),
        (
            "optimizer: {name: Adm}",
            "unknown optimizer 'Adm'",
            "optimizer.name",
            "try `Adam`",
        ),
        (
            "optimizer: 3",
            "optimizer must be a name or a mapping {name, lr, …}, got 3",
            "optimizer",
            "{name: SGD",
        ),
        ("backward: 2", "backward must be a mapping, got 2", "backward", "{key: value}"),
        (
            "backward: {time: 1}",
            "unknown key 'time'",
            "backward.time",
            "try `times`",
        ),
        (
            "backward: {gradient: [true]}",
            "gradient[0] must be a number, a nested list of numbers, or a shape such as 2x10:float32:ones, got true",
            "backward.gradient[0]",
            "write `gradient",
        ),
        (
            "backward: {gradient: '2y'}",
            "'2y' is not an input",
            "backward.gradient",
            "write a shape",
        ),
        (
            "backward: {gradient: batch.pt}",
            "'batch.pt' is not the shape of a tensor",
            "backward.gradient",
            "2x10:float32:ones",
        ),
        (
            "backward: {inputs: 'fc:outptu'}",
            "the text after the colon must be input or output, got 'outptu'",
            "backward.inputs",
            "`fc:output`",
        ),
        (
            "batch_size: 0",
            "batch_size must be an integer of at least 1, got 0",
            "batch_size",
            "such as 1",
        ),
        ("device: gpu", "unknown device 'gpu'", "device", "try `cuda`"),
        ("device: 'cuda:x'", "unknown device 'cuda:x'", "device", "cuda"),
        ("dtype: float", None, None, None),
        ("dtype: int64", "'int64' is not a floating-point dtype", "dtype", "float"),
        (
            "tensors: fakes",
            "tensors must be one of auto, fake, real, got 'fakes'",
            "tensors",
            "try `fake`",
        ),
        (
            "timeout: 0",
            "timeout must be a number greater than 0 and at most 1e+09, got 0",
            "timeout",
            "0.5",
        ),
        (
            "timeout: .nan",
            "timeout must be a number greater than 0 and at most 1e+09, got .nan",
            "timeout",
            "0.5",
        ),
        (
            "max_memory: 8GB",
            "max_memory must be a number greater than 0 and at most 1e+09, got '8GB'",
            "max_memory",
            "without quotes",
        ),
        (
            "flops: yes",
            "flops must be true or false, got 'yes'",
            "flops",
            "write true or false",
        ),
        ("grad: false", "unknown key 'grad'", "grad", "try `no_grad`"),
        ("lr: 1e-1", "unknown key 'lr'", "lr", "optimizer: {name: SGD, lr: 1e-1}"),
        (
            "distributed: {nproc: 0}",
            "nproc must be an integer between 1 and 1024, got 0",
            "distributed.nproc",
            "such as 1",
        ),
        (
            "distributed: {parallel: dp}",
            "parallel must be one of ddp, fsdp, got 'dp'",
            "distributed.parallel",
            "try `ddp`",
        ),
    ],
)
def test_a_run_that_is_refused(read, problem, text, message, path, hint):
    if message is None:
        assert read(f"run:\n  {text}\n").run == {"dtype": "float32"}
        return
    said, place, line, advice = problem(f"run:\n  {text}\n")
    assert said == message
    assert place == f"hooks.yaml:2: run.{path}"
    assert line == text
    assert hint in advice


def test_the_optimizers_are_those_of_torch():
    from torch import optim

    own = {n for n in dir(optim) if isinstance(getattr(optim, n), type)} - {"Optimizer"}
    assert set(OPTIMIZERS) == own


def test_checks_keep_their_options(read, folder):
    assert read(
        "checks:\n  - {rule: output_shape, at: fc, shape: [2, '*']}\n"
        "  - {rule: same_as, report: model.py, severity: error}\n"
    ).checks == (
        CheckSpec("output_shape", {"at": "fc", "shape": (2, "*")}, "hooks.yaml:2: checks[0]"),
        CheckSpec("same_as", {"report": f"{folder}/model.py"}, "hooks.yaml:3: checks[1]", "error"),
    )


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "checks: [finite]",
            "checks[0] must be a mapping {rule, severity, …}, got 'finite'",
            "write `- {rule: finite}`",
        ),
        ("checks: [{at: fc}]", "missing key 'rule'", "add `rule`"),
        (
            "checks: [{rule: finite, severity: warn}]",
            "severity must be one of error, warning, got 'warn'",
            "try `warning`",
        ),
        ("checks: [{rule: finit}]", "unknown rule 'finit'", "try `finite`"),
        ("checks: [{rule: max_params}]", "unknown rule 'max_params'", "try `budget`"),
        (
            "checks: [{rule: output_shape, shape: 3}]",
            "shape must be a list of sizes, '*' and names, got 3",
            "write `shape: [B, 3, '*', 32]`",
        ),
        ("checks: [{rule: budget, flop: 1}]", "unknown key 'flop'", "`flops`"),
        ("suppress: [{rule: finite, at: a}]", "missing key 'reason'", "add `reason`"),
        (
            "fail_on: errors",
            "fail_on must be one of error, warning, never, got 'errors'",
            "try `error`",
        ),
        (
            "preset: grad",
            "preset must be one of trace, grads, inspect, none, got 'grad'",
            "try `grads`",
        ),
        (
            "include: a.yaml",
            "unknown key 'include'",
            "use `extends: base.yaml`",
        ),
        ("seed: 1", "unknown key 'seed'", "run: {seed: 0}"),
        ("hook: []", "unknown key 'hook'", "try `hooks`"),
        ("hooks:", "hooks must be a list of hooks, got null", "write `hooks: [{kind"),
    ],
)
def test_what_is_refused_at_the_top(problem, text, message, hint):
    said, place, _, advice = problem(text)
    assert said == message
    assert place.startswith("hooks.yaml:1: ")
    assert hint in advice


def test_the_rest(read):
    config = read("fail_on: warning\npreset: grads\n")
    assert (config.fail_on, config.preset) == ("warning", "grads")
    assert (config.model, config.inputs, config.run, config.hooks) == (None, (), {}, ())


def test_patterns_of_packages_stand_in_the_order_of_the_file(read):
    text = "run: {package: {mock: [plots, a.*], extern: numpy.**}}"
    assert [(p.action, p.pattern, p.place) for p in read(text).run["package"]] == [
        ("mock", "plots", "hooks.yaml:1: run.package.mock[0]"),
        ("mock", "a.*", "hooks.yaml:1: run.package.mock[1]"),
        ("extern", "numpy.**", "hooks.yaml:1: run.package.extern"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{intern: [my**]}", "'my**' is not a glob of Python modules"),
        ("{intern: [a..b]}", "'a..b' is not a glob of Python modules"),
        ("{intern: [my-lib]}", "'my-lib' is not a glob of Python modules"),
        ("{intern: []}", "intern must not be empty"),
        ("{store: [a]}", "unknown key 'store'"),
        ("[a]", "package must be a mapping, got [a]"),
    ],
)
def test_what_is_no_pattern_of_a_package_is_refused(text, message, problem):
    assert problem(f"run: {{package: {text}}}")[0] == message
