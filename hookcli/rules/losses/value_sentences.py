"""Sentences of `loss_values` about what loss functions get: inputs, targets and scales."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hookcli.text import counted


def _ctc(values: Mapping[str, Any]) -> tuple[str, str]:
    blank, many = values["blank"], values["labels"]
    return (
        f"ctc_loss gets {counted(many, 'label')} of class {blank}, which is its blank: a label "
        "cannot be blank",
        "pass the class of the blank as `blank` to CTCLoss, or begin the labels with 1",
    )


def _ctc_input(values: Mapping[str, Any]) -> tuple[str, str]:
    low, high = values["low"], values["high"]
    return (
        "ctc_loss gets values that are no log-probabilities: over the classes, their exp adds up "
        f"to {low:.3g} to {high:.3g} instead of 1",
        "apply log_softmax over the classes before ctc_loss",
    )


def _kl_div(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        "kl_div gets probabilities instead of log-probabilities, so that it is no divergence: it "
        "can be negative",
        "replace softmax by log_softmax in front of kl_div",
    )


def _binary(values: Mapping[str, Any]) -> tuple[str, str]:
    low, high = values["low"], values["high"]
    return (
        f"binary_cross_entropy_with_logits gets targets from {low:.4g} to {high:.4g}, which must "
        "be between 0 and 1: the loss has no lower bound",
        "scale the targets to 0 and 1",
    )


def _nll(values: Mapping[str, Any]) -> tuple[str, str]:
    low, high, over = values["low"], values["high"], values.get("over")
    return (
        "nll_loss gets values that are no log-probabilities: over the classes, their exp adds up "
        f"to {low:.3g} to {high:.3g} instead of 1"
        + ("" if over is None else f"; log_softmax is over dimension {over}"),
        "pass logits to cross_entropy, or apply log_softmax over dimension 1",
    )


def _regression(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        f"a loss compares the result of {values['what']} with targets from {values['low']:.4g} to "
        f"{values['high']:.4g}: the model cannot reach {values['share']:.0%} of them",
        "remove the activation from the end of the model, or scale the targets to its range",
    )


def _relu(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        f"{values['loss']} gets the result of a ReLU as logits: no logit is negative, and "
        "those that are 0 have no gradient",
        "remove the ReLU from the end of the model",
    )


def _cosines(values: Mapping[str, Any]) -> tuple[str, str]:
    many, least = values["classes"], values["least"]
    return (
        f"cross_entropy gets cosines, between -1 and 1, as logits without a temperature: with "
        f"{many:,} classes the loss cannot fall below {least:.3g}",
        "divide the cosines by a temperature, such as 0.07, or multiply them by a scale",
    )


def _negated(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        f"the loss is {values['loss']} with a minus sign: each step makes the error larger",
        "remove the minus sign: an optimizer minimizes",
    )


def _kl_mean(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        "kl_div averages over all elements, with reduction 'mean': it is "
        f"{values['size']:,} times smaller than the divergence",
        "pass reduction='batchmean'",
    )


def _padding(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        f"{values['share']:.0%} of the labels of cross_entropy are {values['token']}, at the end "
        f"of each sequence, as padding: ignore_index is {values['ignored']}, so that they count",
        f"pass ignore_index={values['token']} to cross_entropy",
    )


def _sigmoid(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        "cross_entropy gets the result of a sigmoid as logits, between 0 and 1, so that the loss "
        f"cannot fall below {values['least']:.3g}",
        "remove the sigmoid, or use binary_cross_entropy for labels that do not exclude each other",
    )


def _one_class(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        "cross_entropy gets the logits of one class: its softmax is 1, and the loss is always 0",
        "give the model an output for each class, or use binary_cross_entropy_with_logits",
    )


def _swapped(values: Mapping[str, Any]) -> tuple[str, str]:
    loss = values["loss"]
    return (
        f"{loss} gets the prediction as its target: only its second argument has a gradient",
        f"swap the arguments of {loss}: the prediction is the first one",
    )


def _kl_reversed(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        "kl_div gets the prediction as its target: it is the divergence of the prediction from a "
        "fixed distribution, not that of the other direction",
        "swap the arguments of kl_div, unless the reverse divergence is meant",
    )


def _squared_shares(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        f"mse_loss compares a softmax over {values['classes']:,} classes with one-hot labels: "
        "where the softmax is wrong and near 1, it has hardly any gradient",
        "pass the logits and the number of the class to cross_entropy",
    )


def _divergence_mean(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        f"the KL term of the loss is a mean over {values['latents']:,} latent values, and the "
        f"reconstruction a sum over {values['elements']:,} elements: the KL term counts "
        f"{values['latents']:,} times too little",
        "sum both terms over the elements of a sample",
    )


def _divergence_sum(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        f"the reconstruction of the loss is a mean over {values['elements']:,} elements, and the "
        f"KL term a sum over {values['latents']:,} latent values: the KL term counts "
        f"{values['elements']:,} times too much",
        "sum both terms over the elements of a sample",
    )


def _masked_mean(values: Mapping[str, Any]) -> tuple[str, str]:
    share = values["share"]
    return (
        f"a mean of the loss counts all elements, {share:.0%} of which a mask sets to zero: it is "
        f"{1 / (1 - share):.3g} times smaller than the mean of the others",
        "divide the sum by the sum of the mask",
    )


def _single_norm(values: Mapping[str, Any]) -> tuple[str, str]:
    dims, shape = values["dims"], values["shape"]
    over = "dimension" if len(dims) == 1 else "dimensions"
    return (
        f"a norm in the loss is over {over} {', '.join(map(str, dims))} of {shape}, of size 1: it "
        "is the absolute value of each element",
        "flatten the dimensions of a sample before its norm: `x.flatten(1).norm(dim=1)`",
    )


def _relu_probability(values: Mapping[str, Any]) -> tuple[str, str]:
    if values["inner"]:
        return (
            "binary_cross_entropy gets the sigmoid of a ReLU, so that no prediction is below 0.5",
            "remove the ReLU in front of the sigmoid",
        )
    return (
        "binary_cross_entropy gets the result of a ReLU, which is no probability: it is 0 without "
        "a gradient, or has no upper bound",
        "replace the ReLU by a sigmoid, or pass logits to binary_cross_entropy_with_logits",
    )


def _softmax_binary(values: Mapping[str, Any]) -> tuple[str, str]:
    many = values["classes"]
    if values["exclusive"]:
        return (
            f"binary_cross_entropy gets a softmax over {many:,} classes, and each sample has one: "
            "cross_entropy of the logits is the loss for it",
            "pass logits and the number of the class to cross_entropy",
        )
    return (
        f"binary_cross_entropy gets a softmax over {many:,} classes, whose shares add up to 1, but "
        "the targets of a sample do not: the model cannot give two classes, or none",
        "replace the softmax by a sigmoid",
    )


def _dropped(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        f"dropout with p={values['p']:.3g} is applied to the outputs that the loss gets: it "
        "sets predictions to zero",
        "move the dropout in front of the last layer",
    )


def _over_samples(values: Mapping[str, Any]) -> tuple[str, str]:
    rows, classes = values["shape"]
    return (
        f"a softmax of shape [{rows:,}, {classes:,}] is over dimension 0, the samples, and "
        "the loss picks a class of each sample: its probabilities do not add up to 1",
        "use `softmax(dim=-1)`",
    )


def _signs(values: Mapping[str, Any]) -> tuple[str, str]:
    loss = values["loss"]
    return (
        f"{loss} gets targets of 0 and 1: they must be -1 and 1",
        f"pass `2 * target - 1` to {loss}",
    )


VALUE_SENTENCES = {
    "squared_shares": _squared_shares,
    "divergence_mean": _divergence_mean,
    "divergence_sum": _divergence_sum,
    "relu_probability": _relu_probability,
    "softmax_binary": _softmax_binary,
    "dropped": _dropped,
    "signs": _signs,
    "over_samples": _over_samples,
    "masked_mean": _masked_mean,
    "single_norm": _single_norm,
    "regression": _regression,
    "relu": _relu,
    "cosines": _cosines,
    "negated": _negated,
    "kl_mean": _kl_mean,
    "padding": _padding,
    "sigmoid": _sigmoid,
    "one_class": _one_class,
    "swapped": _swapped,
    "kl_reversed": _kl_reversed,
    "nll_loss": _nll,
    "ctc_loss": _ctc,
    "ctc_input": _ctc_input,
    "kl_div": _kl_div,
    "binary_cross_entropy_with_logits": _binary,
}
