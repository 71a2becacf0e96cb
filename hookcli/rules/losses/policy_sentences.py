"""Sentences of `loss_values` about losses of policies: returns, advantages and targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def _bootstrapped(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        "the target of a loss, a constant plus a value of the model, has a gradient: the step "
        "moves the target towards the prediction too",
        "compute the target under `torch.no_grad()`, or detach it",
    )


def _advantage(values: Mapping[str, Any]) -> tuple[str, str]:
    name = values["name"]
    return (
        f"'{name}' weighs the log-probabilities of a policy and has a gradient: the critic is "
        "trained by the loss of the policy too",
        f"use `{name}.detach()` in the loss of the policy",
    )


def _terminal(values: Mapping[str, Any]) -> tuple[str, str]:
    name = values["name"]
    return (
        f"'{name}' of the batch is never read: the target adds the value of the next state at the "
        "end of an episode too",
        f"multiply the value of the next state by `1 - {name}`",
    )


def _crossed(values: Mapping[str, Any]) -> tuple[str, str]:
    many = values["samples"]
    return (
        f"{many:,} log-probabilities of actions are multiplied by [{many:,}, {many:,}] weights, as "
        "if shapes [n] and [n, 1] were subtracted: each action gets the advantages of all samples",
        "squeeze the values before they are subtracted from the returns",
    )


def _bare_returns(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        "the loss of the policy multiplies log-probabilities by the returns that are the targets "
        f"of the value, with a mean of {values['mean']:.3g} and a standard deviation of "
        f"{values['std']:.3g}: the value is not subtracted as a baseline",
        "multiply by the advantage, `returns - values.detach()`",
    )


def _surrogate(values: Mapping[str, Any]) -> tuple[str, str]:
    pick, other = values["pick"], "max" if values["pick"] == "min" else "min"
    what = "negative objectives" if values["loss"] else "objectives"
    return (
        f"the loss takes the {pick} of the {what} with the ratio and with the clipped ratio: large "
        "steps of the policy are not clipped",
        f"take the {other}: the loss is `-torch.min(ratio * advantage, clipped * advantage)`",
    )


POLICY_SENTENCES = {
    "crossed_advantage": _crossed,
    "bare_returns": _bare_returns,
    "surrogate": _surrogate,
    "bootstrapped": _bootstrapped,
    "advantage": _advantage,
    "terminal": _terminal,
}
