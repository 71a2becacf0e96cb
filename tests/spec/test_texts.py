"""Texts of flags: named losses, selections of steps and what-ifs, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookcli.config.load import read_text
from hookcli.config.merge import Flags, spec_of
from hookcli.errors import RequestError
from hookcli.spec.inferred import text_of
from hookcli.spec.inputs import TensorSpec, parse_inputs
from hookcli.spec.losses import is_function, parse_named_loss
from hookcli.spec.ranks import of_rank
from hookcli.spec.request import Rank
from hookcli.spec.training import parse_steps
from hookcli.spec.what_if import WhatIf, parse_what_if
from hookcli.spec.working_folder import may_show


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("momentum=x, optimizer=sgd", "momentum must be a number, got 'x'"),
        ("momentum=-1, optimizer=sgd", "momentum must be a number, got '-1'"),
        ("momentum=inf, optimizer=sgd", "momentum must be a number, got 'inf'"),
        ("amsgrad=yes, optimizer=adam", "amsgrad must be true or false, got 'yes'"),
        ("batch_dim=1", "batch_dim requires batch"),
        ("foreach=true", "foreach requires an optimizer"),
    ],
)
def test_a_what_if_that_is_refused_says_why(text, message):
    with pytest.raises(ValueError) as error:
        parse_what_if(text)
    assert error.value.args[0] == message


def test_a_what_if_has_its_options():
    made = parse_what_if("optimizer=adam, amsgrad=true, batch=4, batch_dim=1")
    assert (made.batch, made.batch_dim, made.optimizer.options) == (4, 1, {"amsgrad": True})
    assert parse_what_if("batch=4") == WhatIf("batch=4", batch=4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cross_entropy(output=)", "the arguments of cross_entropy are not valid Python"),
        ("cross_entropy(1)", "the arguments of cross_entropy must have names"),
        ("cross_entropy().x()", "the arguments of cross_entropy must have names"),
        ("cross_entropy(output='a', output='b')", "'output' is given twice"),
    ],
)
def test_a_named_loss_that_is_refused_says_why(text, message):
    with pytest.raises(ValueError) as error:
        parse_named_loss(text)
    assert message in error.value.args[0]


@pytest.mark.parametrize(
    ("loss", "own"),
    [("training_step", True), ("my.py:loss", True), ("mean", False), ("output:loss", False),
     ("cross_entropy", False)],
)  # fmt: skip
def test_a_loss_is_a_function_of_the_user_or_one_of_hookcli(loss, own):
    assert is_function(loss) is own


def test_a_selection_contains_its_steps():
    chosen = parse_steps("0-2, 7, every:10", "--detail")
    assert [step for step in range(32) if step in chosen] == [0, 1, 2, 7, 10, 20, 30]
    assert "7" not in chosen
    assert all(step in parse_steps("all", "--detail") for step in (0, 1, 10**9))


@pytest.mark.parametrize(
    ("text", "message"),
    [("every:0", "every:N requires an N of at least 1, got 0"),
     ("x", "'x' is not a step, a range or every:N")],
)  # fmt: skip
def test_a_selection_that_is_refused_says_why(text, message):
    with pytest.raises(RequestError) as error:
        parse_steps(text, "--detail")
    assert message in error.value.message


@pytest.mark.parametrize("text", ["float32[2,,3]", "float32[,]", "float32[2 3]"])
def test_sizes_in_brackets_must_be_digits(text):
    with pytest.raises(RequestError) as error:
        parse_inputs((text,))
    assert error.value.hint == "write sizes separated by commas, as in `float32[2,3]`"


@pytest.mark.parametrize(
    ("shape", "dtype", "text"),
    [((2, 3), None, "2x3"), ((2,), "int64", "2:int64"), ((), None, "float32[]"),
     ((), "int64", "int64[]")],
)  # fmt: skip
def test_a_guess_is_written_as_an_input_that_can_be_passed(shape, dtype, text):
    assert text_of(TensorSpec(shape, dtype)) == text
    (given,) = parse_inputs((text,))
    assert (given.spec.shape, given.spec.dtype) == (
        shape,
        dtype if shape == (2, 3) else dtype or "float32",
    )


@pytest.mark.parametrize(("device", "own"), [("cuda", "cuda:1"), ("cpu", "cpu"), (None, None)])
def test_each_rank_has_its_own_device(device, own):
    asked = spec_of("grads", read_text("{preset: none}", "c.yaml"), Flags(model="net.py"))
    asked = replace(asked, run=replace(asked.run, device=device))
    assert of_rank(asked, Rank(3, 4, 1, 2, None, 60.0)).run.device == own


def test_files_beside_a_configuration_elsewhere_may_be_shown(tmp_path, monkeypatch):
    here, other = tmp_path / "here", tmp_path / "other"
    for folder in (here, other):
        folder.mkdir()
        (folder / "base.yaml").touch()
    monkeypatch.chdir(here)
    named = str(other / "own.yaml")
    assert may_show(str(other / "base.yaml"), named)
    assert not may_show(str(here / "base.yaml"), named)
    assert may_show(str(here / "base.yaml"), "own.yaml")
