"""The state of a recurrent layer: its shape follows from the layer and its input."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torch import nn

from hookcli.inputs.infer.trial import Reached, Trial
from hookcli.spec.inferred import Guess, Hypothesis, InferredList
from hookcli.spec.inputs import TensorSpec

STATE = re.compile(
    r"^(?:(?:prev|init|initial|cur|last|rnn|lstm|gru|decoder|encoder)_?)?"
    r"(?:h|hx|h_?0|h_?t|hidden|hiddens|hidden_?states?|states?|hc)(?:_(?:prev|t|0|in))?$", re.I
)  # fmt: skip
_CELL = re.compile(r"^(?:c|cx|c_?0|c_?t|cell|cells?|cell_?states?|c_prev)$", re.I)
_SAID = re.compile(r"\bh(?:idden|x)|\bcx\b|tuple", re.I)


def state_guesses(name: str, layers: list[nn.Module], batch: int) -> list[Guess]:
    """Guesses for a parameter that is named like a state, if the model has a recurrent layer."""
    if not (STATE.match(name) or _CELL.match(name)):
        return []
    for module in layers:
        if isinstance(module, nn.RNNBase | nn.RNNCellBase):
            shapes = _shapes(module, batch)
            if _CELL.match(name):
                return [TensorSpec(shapes[-1])]
            pair = InferredList(tuple(TensorSpec(shape) for shape in shapes))
            one = TensorSpec(shapes[0])
            options: list[Guess] = [one, pair]
            return options[::-1] if len(shapes) == 2 and len(name) > 2 else options[: len(shapes)]
    return []


def _shapes(module: nn.RNNBase | nn.RNNCellBase, batch: int | None) -> list[tuple[int, ...]]:
    """The shapes of h, and of c for an LSTM. `batch` is None for an input without samples."""
    samples = () if batch is None else (batch,)
    if isinstance(module, nn.RNNCellBase):
        state = (*samples, module.hidden_size)
        return [state] * (2 if isinstance(module, nn.LSTMCell) else 1)
    layers = module.num_layers * (2 if module.bidirectional else 1)
    shapes = [(layers, *samples, module.proj_size or module.hidden_size)]
    if isinstance(module, nn.LSTM):
        shapes.append((layers, *samples, module.hidden_size))
    return shapes


def by_state(trial: Trial, failed: Reached) -> Iterator[tuple[Hypothesis, str]]:
    """Yield states that fit the input of the recurrent layer that rejected the one it got."""
    module = failed.module
    if not isinstance(module, nn.RNNBase | nn.RNNCellBase) or not failed.shapes:
        return
    if not _SAID.search(trial.error):
        return
    got = failed.shapes[0]
    if isinstance(module, nn.RNNCellBase):
        batch = got[0] if len(got) == 2 else None
    else:
        batch = got[0 if module.batch_first else 1] if len(got) == 3 else None
    shapes = _shapes(module, batch)
    why = f"the state of {failed.name} for an input of {list(got)}"
    yield from _stated(trial.hypothesis, failed, [TensorSpec(shape) for shape in shapes], why)


def _stated(
    hypothesis: Hypothesis, failed: Reached, specs: list[TensorSpec], why: str
) -> Iterator[tuple[Hypothesis, str]]:
    slots = [slot for slot in failed.slots[1:] if slot is not None]
    guess = specs[0] if len(specs) == 1 else InferredList(tuple(specs))
    if len(slots) == len(specs):
        changed = hypothesis
        for path, spec in zip(slots, specs, strict=True):
            changed = changed.with_guess(path, spec)
        yield changed, why
    elif len(slots) == 1:
        yield hypothesis.with_guess(slots[0], guess), why
    source = failed.slots[0] if failed.slots else None
    paths = [path for path, _ in hypothesis.tensors() if path != source]
    named = [path for path in paths if STATE.match(path.partition("[")[0])]
    for path in dict.fromkeys([*(path.partition("[")[0] for path in named), *paths]):
        if source is None or not source.startswith(f"{path}["):
            yield hypothesis.with_guess(path, guess), why
