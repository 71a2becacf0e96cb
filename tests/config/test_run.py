"""`run`, `preset`, `checks` and `fail_on`: what they become, and what is refused."""

# ruff: noqa: E501  # a case is a line

from __future__ import annotations

import pytest

from hookcli.config.sections.run import OPTIMIZERS
from hookcli.spec.checks import CheckSpec
from hookcli.spec.hooks import BackwardSpec, OptimizerSpec
from hookcli.spec.request import DistributedSpec, RunSpec


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
            "mode wants one of train, eval, as-is, not the text 'trian'",
            "mode",
            "try `train`",
        ),
        (
            "seed: -1",
            "seed wants a whole number from 0 to 9223372036854775807, not the number -1",
            "seed",
            "such as 1",
        ),
        (
            "seed: 9223372036854775808",
            "seed wants a whole number from 0 to 9223372036854775807, not the number 9223372036854775808",
            "seed",
            "such as 1",
        ),
        (
            "seed: 1.0",
            "seed wants a whole number from 0 to 9223372036854775807, not the number 1.0",
            "seed",
            "such as 1",
        ),
        ("loss: sume", "'sume' is no loss", "loss", "try `sum`"),
        ("loss: 'output:a['", "'.a[' is no path into the output", "loss", "output:loss"),
        (
            "loss: 'my_los.py:loss'",
            "there is no file my_los.py",
            "loss",
            "try `my_loss.py`",
        ),
        ("steps: 0", "steps wants a whole number from 1, not the number 0", "steps", "such as 1"),
        ("optimizer: Sgd", "there is no optimizer 'Sgd'", "optimizer", "try `SGD`"),
        (
            "optimizer: {name: Adm}",
            "there is no optimizer 'Adm'",
            "optimizer.name",
            "try `Adam`",
        ),
        (
            "optimizer: 3",
            "optimizer wants a name or a mapping {name, lr, …}, not the number 3",
            "optimizer",
            "{name: SGD",
        ),
        ("backward: 2", "backward wants a mapping, not the number 2", "backward", "{key: value}"),
        (
            "backward: {time: 1}",
            "there is no key 'time' here",
            "backward.time",
            "try `times`",
        ),
        (
            "backward: {gradient: [true]}",
            "gradient[0] wants a number, a nested list of numbers, or a shape such as 2x10:float32:ones, not true",
            "backward.gradient[0]",
            "write gradient",
        ),
        ("backward: {gradient: '2y'}", "'2y' is no input", "backward.gradient", "write shapes"),
        (
            "backward: {gradient: batch.pt}",
            "'batch.pt' is no tensor to draw",
            "backward.gradient",
            "2x10:float32:ones",
        ),
        (
            "backward: {inputs: 'fc:outptu'}",
            "'outptu' after the colon is neither input nor output",
            "backward.inputs",
            "`fc:output`",
        ),
        (
            "batch_size: 0",
            "batch_size wants a whole number from 1, not the number 0",
            "batch_size",
            "such as 1",
        ),
        ("device: gpu", "'gpu' is no device", "device", "try `cuda`"),
        ("device: 'cuda:x'", "'cuda:x' is no device", "device", "cuda"),
        ("dtype: float", None, None, None),
        ("dtype: int64", "'int64' is no floating dtype", "dtype", "float"),
        (
            "tensors: fakes",
            "tensors wants one of auto, fake, real, not the text 'fakes'",
            "tensors",
            "try `fake`",
        ),
        (
            "timeout: 0",
            "timeout wants a number above 0 and at most 1e+09, not the number 0",
            "timeout",
            "0.5",
        ),
        (
            "timeout: .nan",
            "timeout wants a number above 0 and at most 1e+09, not the number .nan",
            "timeout",
            "0.5",
        ),
        (
            "max_memory: 8GB",
            "max_memory wants a number above 0 and at most 1e+09, not the text '8GB'",
            "max_memory",
            "without quotes",
        ),
        (
            "flops: yes",
            "flops wants true or false, not the text 'yes'",
            "flops",
            "write true or false",
        ),
        ("grad: false", "there is no key 'grad' here", "grad", "try `no_grad`"),
        ("lr: 1e-1", "there is no key 'lr' here", "lr", "optimizer: {name: SGD, lr: 1e-1}"),
        (
            "distributed: {nproc: 0}",
            "nproc wants a whole number from 1 to 1024, not the number 0",
            "distributed.nproc",
            "such as 1",
        ),
        (
            "distributed: {parallel: dp}",
            "parallel wants one of ddp, fsdp, not the text 'dp'",
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
            "checks[0] wants a mapping {rule, severity, …}, not the text 'finite'",
            "write - {rule: finite}",
        ),
        ("checks: [{at: fc}]", "checks[0] has no 'rule'", "add rule: "),
        (
            "checks: [{rule: finite, severity: warn}]",
            "severity wants one of error, warning, not the text 'warn'",
            "try `warning`",
        ),
        ("checks: [{rule: finit}]", "there is no rule 'finit'", "try `finite`"),
        (
            "checks: [{rule: output_shape, shape: 3}]",
            "shape wants a list of sizes, '*' and names, not the number 3",
            "write shape: [B, 3, '*', 32]",
        ),
        ("checks: [{rule: budget, flop: 1}]", "there is no key 'flop' here", "`flops`"),
        ("suppress: [{rule: finite, at: a}]", "suppress[0] has no 'reason'", "add reason: "),
        (
            "fail_on: errors",
            "fail_on wants one of error, warning, never, not the text 'errors'",
            "try `error`",
        ),
        (
            "preset: grad",
            "preset wants one of trace, grads, inspect, none, not the text 'grad'",
            "try `grads`",
        ),
        (
            "include: a.yaml",
            "there is no key 'include' here",
            "extends: base.yaml is the one way to include",
        ),
        ("seed: 1", "there is no key 'seed' here", "run: {seed: 0}"),
        ("hook: []", "there is no key 'hook' here", "try `hooks`"),
        ("hooks:", "hooks wants a list of hooks, not nothing", "write hooks: [{kind"),
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
        ("{intern: [my**]}", "'my**' is no glob of Python modules"),
        ("{intern: [a..b]}", "'a..b' is no glob of Python modules"),
        ("{intern: [my-lib]}", "'my-lib' is no glob of Python modules"),
        ("{intern: []}", "intern is an empty list"),
        ("{store: [a]}", "there is no key 'store' here"),
        ("[a]", "package wants a mapping, not the list [a]"),
    ],
)
def test_what_is_no_pattern_of_a_package_is_refused(text, message, problem):
    assert problem(f"run: {{package: {text}}}")[0] == message
