"""Sentences of `loss_values` about the arguments of losses and the use of distributions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hookcli.text import join_names


def _soft_targets(values: Mapping[str, Any]) -> tuple[str, str]:
    low, high = values["low"], values["high"]
    if values["bits"]:
        return (
            "cross_entropy gets targets of 0 and 1 for all classes, which add up to "
            f"{low:.3g} to {high:.3g} in a sample: it is made for samples of one class",
            "use binary_cross_entropy_with_logits for classes that do not exclude each other",
        )
    reason = f"they add up to {low:.3g} to {high:.3g} in a sample, and not to 1"
    if values["negative"]:
        reason = "some are negative"
    return (
        f"cross_entropy gets targets for all classes that are not probabilities: {reason}",
        "pass the number of the class, or divide the targets of a sample by their sum",
    )


def _smoothing(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        f"label_smoothing={values['share']:.3g} replaces the labels by equal shares of all "
        "classes: the loss hardly depends on them",
        "use a smaller value, such as 0.1",
    )


def _weights(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        f"{values['zero']:,} of {values['classes']:,} classes have the weight 0 in cross_entropy: "
        f"{values['share']:.0%} of the targets train nothing",
        "give these classes a weight, or leave out their samples",
    )


def _outside(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        f"{values['loss']} gets targets from {values['low']:.4g} to {values['high']:.4g}, which "
        "must be between 0 and 1: the loss has no lower bound",
        "scale the targets to 0 and 1",
    )


def _activated(values: Mapping[str, Any]) -> tuple[str, str]:
    loss, what = values["loss"], values["what"]
    return (
        f"{loss} gets the result of a {what} instead of logits: the values are between 0 and 1, so "
        "that they differ little",
        f"remove the {what}, and pass logits to {loss}",
    )


def _kl_input(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        "kl_div gets values that are not log-probabilities: their exp adds up to "
        f"{values['low']:.3g} to {values['high']:.3g} instead of 1",
        "apply log_softmax before kl_div",
    )


def _kl_target(values: Mapping[str, Any]) -> tuple[str, str]:
    if values["log_target"]:
        return (
            "kl_div gets probabilities as its target, but log_target is true: it takes them for "
            "logarithms",
            "remove `log_target=True`",
        )
    return (
        "kl_div gets log-probabilities as its target, but log_target is false: it takes them for "
        "probabilities",
        "pass `log_target=True`",
    )


def _kl_dimension(values: Mapping[str, Any]) -> tuple[str, str]:
    ours, theirs = values["ours"], values["theirs"]
    return (
        f"kl_div compares log-probabilities over dimension {ours} with probabilities over "
        f"dimension {theirs}",
        f"apply log_softmax over dimension {theirs}",
    )


def _poisson_rate(values: Mapping[str, Any]) -> tuple[str, str]:
    what = values["what"]
    return (
        f"poisson_nll_loss gets the result of {what} as the logarithm of a rate, since log_input "
        "is true: it takes the exp of it",
        f"pass `log_input=False`, or remove {what}",
    )


def _poisson_counts(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        f"poisson_nll_loss gets targets down to {values['low']:.4g}: they must be counts, which "
        "are not negative",
        "pass counts, or use a loss of real numbers, such as mse_loss",
    )


def _variance(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        f"gaussian_nll_loss gets the result of a ReLU as its variance: {values['zero']:.0%} of it "
        f"is 0, which is raised to eps={values['eps']:.3g} and has no gradient",
        "use softplus or exp in the place of the ReLU",
    )


def _label_lists(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        "multilabel_margin_loss gets 0 and 1 for each class, but it reads them as the numbers of "
        "classes",
        "pass the numbers of the classes, followed by -1, or use multilabel_soft_margin_loss",
    )


def _triplet(values: Mapping[str, Any]) -> tuple[str, str]:
    which = values["which"]
    return (
        f"the anchor and the {which} sample of triplet_margin_loss are equal: their distance is 0",
        f"pass another sample as `{which}`",
    )


def _ctc_short(values: Mapping[str, Any]) -> tuple[str, str]:
    short, samples = values["short"], values["samples"]
    return (
        f"{short:,} of {samples:,} label sequences of ctc_loss are longer than their inputs: "
        "zero_infinity sets their losses to 0, so that they train nothing",
        "leave out these samples, or use fewer steps of pooling",
    )


def _no_derivative(values: Mapping[str, Any]) -> tuple[str, str]:
    function = values["function"]
    advice = "use a relaxed distribution, or the log-probability of the sample"
    if function == "torch.normal":
        advice = "use `mean + std * torch.randn_like(std)`"
    return (
        f"`{function}` draws from values with a gradient, and has no derivative: nothing is "
        "trained through the sample",
        advice,
    )


def _sample(values: Mapping[str, Any]) -> tuple[str, str]:
    names = join_names([f"`{name}`" for name in values["parameters"]])
    return (
        f"`sample` of {values['name']} has no gradient, and {values['fed']} gets its result: "
        f"{names} of the distribution are not trained through it",
        "use `rsample()`",
    )


def _own_score(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        f"log_prob of {values['name']} gets the result of `rsample` with its gradient: both move "
        "with the mean, so that its gradient cancels",
        "draw the value with `sample()`",
    )


def _entropy(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        f"the entropy of the policy, of {values['name']}, is added to the loss with a plus sign: "
        "the policy is pushed to one action before it explores",
        "subtract the entropy from the loss",
    )


def _prior_first(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        "kl_divergence gets the standard normal distribution first, and the trained one second: "
        "the KL term of a variational bound has them in the other order",
        "swap the arguments, as in `kl_divergence(posterior, prior)`",
    )


def _logits(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        f"{values['name']} gets {values['what']} as its logits: between 0 and 1, they make all "
        "outcomes nearly equally likely",
        "pass them as `probs`, or pass logits",
    )


def _counted_weights(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        f"cross_entropy weighs class {values['class']} most, with {values['weight']:.3g}, which "
        f"{values['share']:.0%} of the targets of a batch have: rarer classes weigh less, down to "
        f"{values['least']:.3g}",
        "pass weights that fall with the count: `counts.sum() / (classes * counts)`",
    )


def _lowered_positives(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        f"pos_weight={values['weight']:.3g} makes positives weigh less, and {values['share']:.0%} "
        "of the targets are positive: the rare class counts even less",
        "pass the number of negatives divided by that of positives",
    )


def _shares_as_logits(values: Mapping[str, Any]) -> tuple[str, str]:
    return (
        f"{values['loss']} gets values from {values['low']:.3g} to {values['high']:.3g}, as a "
        "sigmoid returns, and applies another sigmoid: each prediction stays above 0.5",
        "pass logits, or use binary_cross_entropy",
    )


CALL_SENTENCES = {
    "shares_as_logits": _shares_as_logits,
    "counted_weights": _counted_weights,
    "lowered_positives": _lowered_positives,
    "activated": _activated,
    "ctc_short": _ctc_short,
    "entropy": _entropy,
    "kl_dimension": _kl_dimension,
    "kl_input": _kl_input,
    "kl_target": _kl_target,
    "label_lists": _label_lists,
    "logits": _logits,
    "no_derivative": _no_derivative,
    "outside": _outside,
    "own_score": _own_score,
    "poisson_counts": _poisson_counts,
    "poisson_rate": _poisson_rate,
    "prior_first": _prior_first,
    "sample": _sample,
    "smoothing": _smoothing,
    "soft_targets": _soft_targets,
    "triplet": _triplet,
    "variance": _variance,
    "weights": _weights,
}
