"""Labels that fit a model of transformers, by the name of its class and its config."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn


@dataclass(frozen=True, slots=True)
class Labels:
    """The keyword arguments that make a model compute its loss, and what they are."""

    values: dict[str, Any]
    what: str


@dataclass(frozen=True, slots=True)
class _Facts:
    """What labels depend on: the config, the batch by the names of forward, and the generator."""

    config: Any
    inputs: Mapping[str, Any]
    generator: torch.Generator

    def main(self) -> torch.Tensor | None:
        """Return the ids or the features that the model gets."""
        names = ("input_ids", "inputs_embeds", "pixel_values", "input_values", "input_features")
        tensors = [v for v in self.inputs.values() if isinstance(v, torch.Tensor)]
        named = [self.inputs[n] for n in names if isinstance(self.inputs.get(n), torch.Tensor)]
        return (named or tensors or [None])[0]

    def draw(self, below: int, *shape: int) -> torch.Tensor:
        """Return integers from 0 to `below` - 1 on the device of the inputs."""
        main = self.main()
        made = torch.randint(0, max(1, below), shape, generator=self.generator)
        return made if main is None else made.to(main.device)


def fitting_labels(
    root: nn.Module, inputs: Mapping[str, Any], names: list[str], seed: int
) -> Labels | None:
    """Return labels for a model; None if it takes none, or if it is not known which fit.

    `inputs` are the arguments of forward by name, `names` the names of its parameters.
    """
    config = getattr(root, "config", None)
    facts = _Facts(config, inputs, torch.Generator().manual_seed(seed))
    if facts.main() is None:
        return None
    if "labels" not in names:
        wanted = {"start_positions", "end_positions"} <= set(names)
        return _positions(facts) if wanted else None
    kinds = [kind.__name__ for kind in type(root).__mro__]
    for ending, make in _MAKERS:
        if any(ending in kind for kind in kinds):
            return make(facts)
    return None


def _ids(facts: _Facts) -> Labels | None:
    """The input ids: a causal model shifts them itself."""
    ids = facts.inputs.get("input_ids")
    if ids is None:
        return None
    return Labels({"labels": ids.clone()}, "the input ids")


def _pretraining(facts: _Facts) -> Labels | None:
    labels, ids = _ids(facts), facts.inputs.get("input_ids")
    if labels is None or ids is None:
        return None
    following = {"next_sentence_label": facts.draw(2, ids.shape[0])}
    return Labels({**labels.values, **following}, "the input ids, and 0 or 1")


def _sequence_ids(facts: _Facts) -> Labels | None:
    """Ids below the size of the vocabulary, for a decoder whose input is made of the labels."""
    main, vocabulary = facts.main(), _number(facts.config, "vocab_size")
    if main is None or vocabulary is None:
        return None
    length = main.shape[1] if "input_ids" in facts.inputs else 8
    labels = facts.draw(vocabulary, main.shape[0], length)
    return Labels({"labels": labels}, f"integers below {vocabulary}, the size of the vocabulary")


def _classes(facts: _Facts) -> Labels | None:
    """A class for each sample; numbers for regression, and for several labels at once."""
    main, count = facts.main(), _number(facts.config, "num_labels")
    if main is None or count is None:
        return None
    samples = main.shape[0]
    problem = getattr(facts.config, "problem_type", None)
    if problem == "multi_label_classification":
        labels = facts.draw(2, samples, count).float()
        return Labels({"labels": labels}, f"0 or 1 for each of {count} labels")
    if problem == "regression" or (problem is None and count == 1):
        shape = (samples,) if count == 1 else (samples, count)
        values = torch.randn(shape, generator=facts.generator).to(main.device)
        return Labels({"labels": values}, "random numbers")
    return Labels({"labels": facts.draw(count, samples)}, f"integers below {count}, num_labels")


def _of_tokens(facts: _Facts) -> Labels | None:
    main, count = facts.main(), _number(facts.config, "num_labels")
    if main is None or count is None:
        return None
    labels = facts.draw(count, *main.shape[:2])
    return Labels({"labels": labels}, f"integers below {count}, num_labels, for each token")


def _choices(facts: _Facts) -> Labels | None:
    main = facts.main()
    if main is None or main.dim() < 3:
        return None
    labels = facts.draw(main.shape[1], main.shape[0])
    return Labels({"labels": labels}, f"integers below {main.shape[1]}, the number of choices")


def _positions(facts: _Facts) -> Labels | None:
    """The first and last token of an answer."""
    main = facts.main()
    if main is None or main.dim() < 2:
        return None
    names = ("start_positions", "end_positions")
    values = {name: facts.draw(main.shape[1], main.shape[0]) for name in names}
    return Labels(values, f"integers below {main.shape[1]}, the number of tokens")


def _pixels(facts: _Facts) -> Labels | None:
    main, count = facts.main(), _number(facts.config, "num_labels")
    if main is None or count is None or main.dim() != 4:
        return None
    labels = facts.draw(count, main.shape[0], *main.shape[2:])
    return Labels({"labels": labels}, f"integers below {count}, num_labels, for each pixel")


def _transcripts(facts: _Facts) -> Labels | None:
    """Short sequences of CTC, without the blank, which is the id of the padding."""
    main, vocabulary = facts.main(), _number(facts.config, "vocab_size")
    blank = _number(facts.config, "pad_token_id") or 0
    if main is None or vocabulary is None:
        return None
    drawn = facts.draw(vocabulary - 1, main.shape[0], 2)
    return Labels({"labels": drawn + (drawn >= blank)}, "two integers for each sample, not blank")


def _boxes(facts: _Facts) -> Labels | None:
    """One object in each image: its class, and its box as center and size from 0 to 1."""
    main, count = facts.main(), _number(facts.config, "num_labels")
    if main is None or count is None:
        return None
    objects = [
        {"class_labels": facts.draw(count, 1), "boxes": torch.full((1, 4), 0.5).to(main.device)}
        for _ in range(main.shape[0])
    ]
    return Labels({"labels": objects}, "one object in each image")


def _number(config: Any, name: str) -> int | None:
    value = getattr(config, name, None)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# Parts of names of classes, the more special ones first.
_MAKERS: tuple[tuple[str, Callable[[_Facts], Labels | None]], ...] = (
    ("ForPreTraining", _pretraining),
    ("ForCausalLM", _ids),
    ("LMHeadModel", _ids),
    ("ForMaskedLM", _ids),
    ("WithLMHead", _ids),
    ("ForConditionalGeneration", _sequence_ids),
    ("ForSequenceClassification", _classes),
    ("ForImageClassification", _classes),
    ("ForVideoClassification", _classes),
    ("ForTokenClassification", _of_tokens),
    ("ForMultipleChoice", _choices),
    ("ForSemanticSegmentation", _pixels),
    ("ForCTC", _transcripts),
    ("ForObjectDetection", _boxes),
)
