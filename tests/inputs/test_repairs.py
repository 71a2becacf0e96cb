"""What a failed trial suggests: the message and the layer that raised name another input."""

from __future__ import annotations

import inspect

import pytest
from torch import nn

from hookcli.inputs.infer.clash import Clash, clash_of
from hookcli.inputs.infer.failed_line import FailedLine
from hookcli.inputs.infer.layer_clues import Clues
from hookcli.inputs.infer.repair import repairs
from hookcli.inputs.infer.repair_by_layer import by_layer
from hookcli.inputs.infer.search import grown
from hookcli.inputs.infer.solve import _bracket
from hookcli.inputs.infer.trial import Reached, Trial
from hookcli.spec.inferred import Hypothesis, InferredDict, InferredList, Slot
from hookcli.spec.inputs import TensorSpec, ValueSpec


class Net(nn.Module):
    """A model whose forward has these parameters; nothing calls it."""

    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x, other=None, decoder_input_ids=None):
        return self.layers[0](x)


def hypothesis(**guesses):
    made = {n: TensorSpec(g) if isinstance(g, tuple) else g for n, g in guesses.items()}
    return Hypothesis(tuple(Slot(name, guess, False) for name, guess in made.items()))


def suggested(error, *layers, kind="RuntimeError", failed=None, line=None, clues=None, **guesses):
    """Each repair's reason, with its guesses by name."""
    net = Net(*layers)
    trial = Trial(hypothesis(**guesses), False, error=error, kind=kind, failed=failed)
    if line is not None:
        trial.line = line
    signature = inspect.signature(net.forward)
    return [
        (why, {slot.name: slot.guess for slot in changed})
        for changed, why in repairs(trial, clues or Clues(net, 2), signature)
    ]


CLUES = Clues(Net(nn.Linear(4, 2)), 2)


def shapes(found, name="x"):
    return {
        (why, guesses[name].shape)
        for why, guesses in found
        if isinstance(guesses.get(name), TensorSpec)
    }


@pytest.mark.parametrize(
    ("error", "shape", "expected"),
    [
        (
            "mat1 and mat2 shapes cannot be multiplied (2x8 and 12x3)", (2, 8),
            ("8→12", (2, 12)),
        ),
        (
            "mat1 and mat2 shapes cannot be multiplied (2x8 and 12x3)", (2, 5, 8),
            ("8→12", (2, 5, 12)),
        ),
        (
            "a and b must have same reduction dim, but got [2, 8] X [12, 3].", (2, 8),
            ("8→12", (2, 12)),
        ),
        (
            "The size of tensor a (8) must match the size of tensor b (6) at "
            "non-singleton dimension 1", (2, 8), ("8→6", (2, 6)),
        ),
        (
            "The size of tensor a (6) must match the size of tensor b (8) at "
            "non-singleton dimension 1", (2, 8), ("8→6", (2, 6)),
        ),
        (
            "The expanded size of the tensor (6) must match the existing size (8) at "
            "non-singleton dimension 1.", (2, 8), ("8→6", (2, 6)),
        ),
        ("Expected size 6 but got size 8 for tensor number 1", (2, 8), ("8→6", (2, 6))),
        (
            "einsum(): operand has size 8 for operand 1 which does not broadcast with "
            "previously seen size 6", (2, 8), ("8→6", (2, 6)),
        ),
        (
            "Attempting to broadcast a dimension of length 8 at -1! Mismatching argument at "
            "index 1 had torch.Size([2, 8]); but expected shape should be broadcastable to "
            "[2, 6]", (2, 8), ("8→6", (2, 6)),
        ),
        ("mat1 and mat2 shapes cannot be multiplied (1x8 and 12x3)", (8,), ("8→12", (12,))),
        (
            "The size of tensor a (17) must match the size of tensor b (65) at "
            "non-singleton dimension 1", (2, 3, 64, 64), ("patches", (2, 3, 128, 128)),
        ),
        (
            "mat1 and mat2 shapes cannot be multiplied (2x256 and 1024x3)", (2, 3, 32, 32),
            ("side 64", (2, 3, 64, 64)),
        ),
        (
            "mat1 and mat2 shapes cannot be multiplied (2x8 and 24x3)", (2, 4, 5),
            ("8→24", (2, 4, 15)),
        ),
        (
            "mat1 and mat2 shapes cannot be multiplied (2x8 and 24x3)", (2, 4, 5),
            ("8→24", (2, 12, 5)),
        ),
    ],
)  # fmt: skip
def test_two_sizes_that_must_be_equal(error, shape, expected):
    assert expected in shapes(suggested(error, nn.Linear(8, 3), x=shape))


def test_sizes_of_zero_suggest_nothing():
    error = "The size of tensor a (0) must match the size of tensor b (8) at dimension 1"
    assert not any("→" in why for why, _ in suggested(error, nn.Linear(8, 3), x=(2, 8)))


@pytest.mark.parametrize(
    ("error", "shape", "expected"),
    [
        # 784 = 28 * 28: a sample as large as the view's constants
        ("shape '[-1, 784]' is invalid for input of size 32", (2, 16), ("view", (2, 784))),
        ("shape '[-1, 784]' is invalid for input of size 32", (2, 16), ("view", (2, 1, 28, 28))),
        ("shape '[-1, 3072]' is invalid for input of size 32", (2, 16), ("view", (2, 3, 32, 32))),
        (
            "shape '[-1, 400]' is invalid for input of size 5408", (2, 1, 64, 64),
            ("side 28", (2, 1, 28, 28)),
        ),
    ],
)  # fmt: skip
def test_a_view_tells_how_large_a_sample_is(error, shape, expected):
    assert expected in shapes(suggested(error, nn.Linear(8, 3), x=shape))


@pytest.mark.parametrize(
    ("error", "shape"),
    [
        ("shape '[400]' is invalid for input of size 32", (2, 16)),
        ("shape '[-1, 400]' is invalid for input of size 0", (2, 16)),
        ("shape '[-1, 400]' is invalid for input of size 32", (0, 16)),
    ],
)
def test_a_view_without_a_size_for_a_sample_tells_nothing(error, shape):
    reasons = {why for why, _ in suggested(error, nn.Linear(8, 3), x=shape)}
    assert not any(why == "view" or why.startswith("side") for why in reasons)


def test_images_that_are_too_small_become_larger():
    found = suggested("Output size is too small", nn.Conv2d(3, 4, 3), x=(2, 3, 32, 32))
    assert shapes(found) == {
        ("larger: 64", (2, 3, 64, 64)),
        ("larger: 128", (2, 3, 128, 128)),
        ("larger: 224", (2, 3, 224, 224)),
    }
    largest = suggested("Output size is too small", nn.Conv2d(3, 4, 3), x=(2, 3, 600, 600))
    assert shapes(largest) == set()


def test_images_of_one_shape_get_the_same_new_side():
    found = suggested(
        "Output size is too small", nn.Conv2d(3, 4, 3), x=(2, 3, 32, 32), other=(2, 3, 32, 32)
    )
    assert all(guesses["x"] == guesses["other"] for _, guesses in found)
    assert len(found) == 3


def test_indices_and_floats_replace_each_other():
    table = nn.Embedding(9, 4)
    found = suggested("Expected tensor for argument #1 'indices' to have scalar types: Long, Int",
                      table, x=(2, 8))  # fmt: skip
    [guess] = [g["x"] for why, g in found if why == "indices are needed"]
    assert (guess.dtype, guess.fill.high) == ("int64", 9)
    indices = TensorSpec((2, 8), "int64")
    found = suggested("expected m1 and m2 to have Float", nn.Linear(8, 3), x=indices, other=(2,))
    assert ("floats are needed", {"x": TensorSpec((2, 8)), "other": TensorSpec((2,))}) in found


def test_an_integer_replaces_a_small_tensor():
    error = "only integer tensors of a single element can be converted to an index as an integer"
    found = suggested(error, nn.Linear(8, 3), x=(2, 8), other=(2,))
    assert [g["other"] for why, g in found if why == "an integer is needed"] == [ValueSpec(1)]
    assert all(g["x"] == TensorSpec((2, 8)) for why, g in found if why == "an integer is needed")


@pytest.mark.parametrize(
    ("rank", "expected"),
    [
        (2, {("2-d", (2, 8))}),
        (3, {("3-d", (2, 16, 8)), ("3 dimensions are needed", (2, 16, 8))}),
        (4, {("an image", (2, 3, 64, 64)), ("4 dimensions are needed", (2, 3, 64, 64))}),
        (5, {("5-d", (2, 8, 3, 64, 64))}),
    ],
)
def test_an_unpacked_shape_tells_the_rank(rank, expected):
    error = f"not enough values to unpack (expected {rank}, got 1)"
    found = suggested(error, nn.Linear(8, 3), x=(8,), kind="ValueError")
    assert expected <= shapes(found)
    assert all(len(shape) == rank for _, shape in shapes(found))


def test_indices_keep_their_kind_with_another_rank():
    found = suggested("not enough values to unpack (expected 3, got 2)", nn.Embedding(9, 4),
                      x=TensorSpec((2, 8), "int64"), kind="ValueError")  # fmt: skip
    assert found == [("3-d", {"x": TensorSpec((2, 16, 16), "int64")})]


@pytest.mark.parametrize("rank", [0, 6])
def test_a_rank_that_no_layer_has_is_not_tried(rank):
    error = f"too many values to unpack (expected {rank})"
    assert suggested(error, nn.Linear(8, 3), x=(2, 8), kind="ValueError") == []


def test_an_argument_that_is_unpacked_becomes_a_list():
    found = suggested("too many values to unpack (expected 3)", nn.Linear(8, 3), x=(2, 8),
                      kind="ValueError", line=FailedLine(1, (), "x"))  # fmt: skip
    assert ("it is unpacked", {"x": InferredList((TensorSpec((2, 8)),) * 3)}) in found


def test_a_number_without_dimensions_gets_some():
    found = suggested("not enough values to unpack (expected 2, got 0)", nn.Linear(8, 3), x=(),
                      kind="ValueError")  # fmt: skip
    assert ("2-d", (2, 16)) in shapes(found)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("unsupported operand: other must not be None", ["other"]),
        ("You have to specify either input_ids or inputs_embeds", ["decoder_input_ids"]),
        ("'NoneType' object has no attribute 'shape'", ["other", "decoder_input_ids"]),
        ("something else", []),
    ],
)
def test_an_omitted_argument_is_added(error, expected):
    found = suggested(error, nn.Embedding(9, 4), x=(2, 8))
    added = [name for why, g in found for name in g if why == f"{name} is needed"]
    assert list(dict.fromkeys(added)) == expected


def test_a_key_that_is_missing_is_added():
    batch = InferredDict((("image", TensorSpec((2, 3, 8, 8))),))
    found = suggested("'input_ids'", nn.Embedding(9, 4), x=batch, kind="KeyError")
    [guess] = [g["x"] for why, g in found if why == "input_ids is needed"]
    assert [key for key, _ in guess.items] == ["image", "input_ids"]
    assert guess.get("input_ids").dtype == "int64"


def test_another_shape_that_the_error_names():
    error = "The size of the 2D attn_mask is not correct: shape (16, 16), should be (4, 4)"
    found = suggested(error, nn.Linear(8, 3), x=(16, 16))
    assert ("[4, 4] is needed instead of [16, 16]", (4, 4)) in shapes(found)
    none = suggested("expected shape [0, 4], got [16, 16]", nn.Linear(8, 3), x=(16, 16))
    assert not any("instead" in why for why, _ in none)


def test_a_layer_that_got_a_part_of_a_tensor_tells_of_a_list():
    failed = Reached(nn.Linear(8, 3), "layers.0", ((8,),), ("float32",), (None,))
    found = suggested("x", nn.Linear(8, 3), x=(2, 8), failed=failed)
    assert ("a list", {"x": InferredList((TensorSpec((2, 8)),) * 2)}) in found


def test_a_list_that_is_too_short_gets_one_more():
    item = TensorSpec((2, 8))
    found = suggested("list index out of range", nn.Linear(8, 3), kind="IndexError",
                      x=InferredList((item,)))  # fmt: skip
    assert ("one more item is needed", {"x": InferredList((item, item))}) in found


def test_a_message_about_lists_suggests_one():
    found = suggested("'int' object is not iterable", nn.Linear(8, 3), x=(2, 8), kind="TypeError")
    assert found == [("a list is needed", {"x": InferredList((TensorSpec((2, 8)),) * 2)})]


def test_a_batch_without_tensors_gets_no_repair():
    found = suggested("Output size is too small", nn.Linear(8, 3), x=ValueSpec(1))
    assert found == []


class OneStep(nn.Module):
    """A decoder of one token, as in torch's tutorial of sequence to sequence."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(9, 4)
        self.gru = nn.GRU(4, 4)

    def forward(self, ids, hidden, memory):
        embedded = self.table(ids).view(1, 1, -1)
        return self.gru(embedded, hidden)


def test_a_view_of_one_step_makes_the_batch_one_sample():
    net = OneStep()
    trial = Trial(
        hypothesis(ids=TensorSpec((2, 16), "int64"), hidden=(1, 2, 4), memory=(2, 16, 4)),
        False, error="x", kind="RuntimeError",
    )  # fmt: skip
    changed, why = next(repairs(trial, Clues(net, 2), inspect.signature(net.forward)))
    assert why == "forward has a view of one step"
    assert [spec.shape for _, spec in changed.tensors()] == [(1,), (1, 1, 4), (16, 4)]


def test_a_layer_whose_inputs_are_unknown_gets_no_repair():
    failed = Reached(nn.Linear(8, 3), "layers.0", (), (), ())
    assert list(by_layer(Trial(hypothesis(x=(2, 4)), False), failed, CLUES, indices=False)) == []


def test_only_inputs_of_floats_become_indices():
    error = "tensors used as indices must be long, int, byte or bool tensors"
    ids = TensorSpec((2, 4), "int64")
    found = suggested(error, nn.Embedding(5, 3), x=(2, 4), other=ids)
    changed = [guesses for why, guesses in found if why == "indices are needed"]
    assert [(one["x"].dtype, one["other"]) for one in changed] == [("int64", ids)]


def test_sizes_that_do_not_broadcast_are_no_clash_beyond_their_dimensions():
    text = "Attempting to broadcast a dimension of length 8 at -{}! Mismatching argument at index 1"
    text += " had torch.Size([8]); but expected shape should be broadcastable to [2, 6]"
    trial = Trial(hypothesis(x=(2, 8)), False, error=text.format(1))
    assert clash_of(trial, 2) == Clash(8, 6, "the model")
    trial.error = text.format(2)
    assert clash_of(trial, 2) is None


def test_two_states_of_a_layer_that_are_one_argument_become_a_list():
    lstm = nn.LSTM(4, 3, batch_first=True)
    failed = Reached(lstm, "layers.0", ((2, 5, 4), (2, 4)), ("float32",) * 2, ("x", "other"))
    error = "Expected hidden[0] size (1, 2, 3), got [2, 4]"
    states = InferredList((TensorSpec((1, 2, 3)),) * 2)
    found = suggested(error, lstm, x=(2, 5, 4), other=(2, 4), failed=failed)
    why = "the state of layers.0 for an input of [2, 5, 4]"
    assert (why, {"x": TensorSpec((2, 5, 4)), "other": states}) in found


def test_the_inputs_of_many_layers_are_those_of_the_first():
    layers = [nn.Linear(size, 2) for size in range(3, 30)]
    specs = Clues(Net(*layers), 2).generic()
    sizes = {spec.shape[-1] for spec in specs}
    assert {3, 4, 5} <= sizes
    assert not {20, 25, 29} & sizes


def test_a_trial_that_ran_has_no_key():
    one = Trial(hypothesis(x=(2, 4)), True, kind="ValueError", error="size 3")
    other = Trial(hypothesis(x=(2, 4)), False, kind="ValueError", error="size 3")
    again = Trial(hypothesis(x=(2, 9)), False, kind="ValueError", error="size 77")
    assert one.key == ""
    assert other.key == again.key != ""


@pytest.mark.parametrize(("budget", "sizes"), [(0, []), (2, [8, 16]), (9, [8, 16, 32])])
def test_an_input_grows_until_it_fits_or_no_trial_is_left(budget, sizes):
    failure = Trial(hypothesis(x=(2, 4)), False, error="too small", kind="RuntimeError")
    tried = []

    def attempt(changed, _why, _parent):
        if len(tried) == budget:
            return None
        tried.append(changed.get("x").shape[1])
        return Trial(changed, tried[-1] >= 32, error="too small", kind="RuntimeError")

    found = list(grown(failure, attempt, frozenset()))
    assert tried[: len(sizes)] == sizes
    assert [trial.hypothesis.get("x").shape[1] for trial in found[:1]] == [32] * (budget > 2)


@pytest.mark.parametrize(
    ("gap", "ends"),
    [
        (lambda size: size * size - 100, (8, 16)),
        (lambda size: size - 3, (3, 3)),
        (lambda size: None if size < 3 else size**2 - 10, (2, 4)),  # too small for another layer
        (lambda size: 9 if size > 4 else 1, None),
    ],
)
def test_sizes_between_which_a_gap_changes_its_sign_are_found(gap, ends):
    assert _bracket(gap, (4, gap(4)), (8, gap(8)), 1000) == ends
