"""Labels for models of transformers: shapes and values follow from the class and its config."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from hookcli.inputs.labels import fitting_labels

IDS = torch.arange(14).view(2, 7)
FEATURES = torch.zeros(2, 5, 3)
IMAGE = torch.zeros(2, 3, 8, 6)


def made(name, inputs, names=("labels",), **config):
    """The labels for a model of a class with this name, which inherits from another one."""
    base = type(name, (nn.Module,), {})
    model = type("Custom", (base,), {})()
    model.config = SimpleNamespace(**config)
    return fitting_labels(model, inputs, list(names), seed=0)


# The class, the inputs, the config; the shape of the labels, and the values that they may have.
CASES = {
    "a class": (
        "XForSequenceClassification", {"input_ids": IDS}, {"num_labels": 3}, (2,), {0, 1, 2},
    ),
    "an image": (
        "XForImageClassification", {"pixel_values": IMAGE}, {"num_labels": 2}, (2,), {0, 1},
    ),
    "several classes at once": (
        "XForSequenceClassification", {"input_ids": IDS},
        {"num_labels": 4, "problem_type": "multi_label_classification"}, (2, 4), {0.0, 1.0},
    ),
    "one number": ("XForSequenceClassification", {"input_ids": IDS}, {"num_labels": 1}, (2,), None),
    "several numbers": (
        "XForSequenceClassification", {"input_ids": IDS},
        {"num_labels": 3, "problem_type": "regression"}, (2, 3), None,
    ),
    "tokens": ("XForTokenClassification", {"input_ids": IDS}, {"num_labels": 2}, (2, 7), {0, 1}),
    "choices": ("XForMultipleChoice", {"x": torch.zeros(2, 4, 7)}, {}, (2,), {0, 1, 2, 3}),
    "pixels": ("XForSemanticSegmentation", {"pixel_values": IMAGE}, {"num_labels": 2}, (2, 8, 6),
               {0, 1}),
    "a transcript without the blank": (
        "XForCTC", {"input_values": FEATURES}, {"vocab_size": 3, "pad_token_id": 1}, (2, 2), {0, 2},
    ),
    "the text of a decoder": (
        "XForConditionalGeneration", {"input_ids": IDS}, {"vocab_size": 5}, (2, 7), set(range(5)),
    ),
    "the text for features": (
        "XForConditionalGeneration", {"input_features": FEATURES}, {"vocab_size": 5}, (2, 8),
        set(range(5)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_labels_have_the_shape_and_the_values_of_the_class(case):
    name, inputs, config, shape, values = CASES[case]
    (labels,) = made(name, inputs, **config).values.values()
    assert tuple(labels.shape) == shape
    numbers = values is None or case == "several classes at once"
    assert labels.is_floating_point() == numbers
    assert values is None or set(labels.unique().tolist()) <= values


@pytest.mark.parametrize("name", ["XForCausalLM", "XLMHeadModel", "XForMaskedLM"])
def test_a_language_model_gets_its_own_ids(name):
    labels = made(name, {"input_ids": IDS})
    assert torch.equal(labels.values["labels"], IDS)
    assert labels.what == "the input ids"


def test_pretraining_has_two_labels():
    labels = made("XForPreTraining", {"input_ids": IDS}).values
    assert torch.equal(labels["labels"], IDS)
    assert set(labels["next_sentence_label"].tolist()) <= {0, 1}


def test_an_answer_has_a_first_and_a_last_token():
    names = ("start_positions", "end_positions")
    labels = made("XForQuestionAnswering", {"input_ids": IDS}, names).values
    assert list(labels) == list(names)
    assert all(value.shape == (2,) and int(value.max()) < 7 for value in labels.values())


def test_each_image_has_one_object():
    objects = made("XForObjectDetection", {"pixel_values": IMAGE}, num_labels=3).values["labels"]
    assert [row["boxes"].tolist() for row in objects] == [[[0.5] * 4]] * 2
    assert all(int(row["class_labels"]) in {0, 1, 2} for row in objects)


LABELS = ("labels",)
WITHOUT = [
    ("XForCausalLM", {}, LABELS, {}),  # no tensor
    ("XForCausalLM", {"inputs_embeds": FEATURES}, LABELS, {}),  # no ids
    ("XForPreTraining", {"pixel_values": IMAGE}, LABELS, {}),
    ("XForConditionalGeneration", {"input_ids": IDS}, LABELS, {}),  # no size of a vocabulary
    ("XForSequenceClassification", {"input_ids": IDS}, LABELS, {"num_labels": True}),
    ("XForTokenClassification", {"input_ids": IDS}, LABELS, {}),
    ("XForMultipleChoice", {"input_ids": IDS}, LABELS, {}),  # no dimension of choices
    ("XForSemanticSegmentation", {"pixel_values": FEATURES}, LABELS, {"num_labels": 2}),
    ("XForCTC", {"input_values": FEATURES}, LABELS, {}),
    ("XForObjectDetection", {"pixel_values": IMAGE}, LABELS, {}),
    ("XModel", {"input_ids": IDS}, LABELS, {}),  # a class that is not known
    ("XForQuestionAnswering", {"x": torch.zeros(2)}, ("start_positions", "end_positions"), {}),
    ("XForCausalLM", {"input_ids": IDS}, ("input_ids",), {}),  # forward takes no labels
]


@pytest.mark.parametrize(("name", "inputs", "names", "config"), WITHOUT)
def test_what_does_not_determine_labels_gives_none(name, inputs, names, config):
    assert made(name, inputs, names, **config) is None


def test_the_same_seed_draws_the_same_labels():
    first, again = (
        made("XForSequenceClassification", {"input_ids": IDS.repeat(20, 1)}, num_labels=100)
        for _ in range(2)
    )
    assert torch.equal(first.values["labels"], again.values["labels"])
