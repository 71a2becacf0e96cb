"""`function_arguments`: functions and layers get arguments that fit each other."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.report.training import TrainingReport
from hookcli.rules.losses.misfits import (
    Values,
    findings_of_facts,
    findings_of_model,
    misfits,
)
from hookcli.rules.rule import NO_BACKWARD, Options, Rule, RuleFinding, passed, skipped
from hookcli.rules.script.facts import facts_of, without_findings
from hookcli.spec.checks import BACKWARD, request_probe
from hookcli.text import counted

PROBE = "function_arguments"


def _flag(values: Values) -> tuple[str, str]:
    kind, attribute, value = values["type"], values["attribute"], values["value"]
    return (
        f"{kind} was constructed with {attribute}={value}, which counts as {float(value):g}: a "
        "number is expected there",
        "pass the argument that is meant by its name",
    )


def _constant_mask(values: Values) -> tuple[str, str]:
    shape, dim = values["shape"], values["dim"]
    return (
        f"a softmax over dimension {dim} of scores {shape} gets a mask {values['mask']} that is "
        "the same along that dimension: it hides whole rows, which changes no weight",
        f"give the mask the size {shape[dim]} in dimension {dim}, as that of keys has it",
    )


def _heads(values: Values) -> tuple[str, str]:
    heads, shape = values["heads"], values["shape"]
    return (
        f"an attention of shape {shape} is among the {heads} heads of each position, and not among "
        f"the {values['positions']} positions",
        "transpose dimensions 1 and 2, so that heads come before positions",
    )


def _mixture(values: Values) -> tuple[str, str]:
    summed, normalized = values["summed"], values["normalized"]
    return (
        f"logsumexp adds up a mixture over dimension {summed}, but log_softmax normalizes its "
        f"weights over dimension {normalized}: they do not add up to 1",
        f"apply log_softmax over dimension {summed}",
    )


def _whole_norm(values: Values) -> tuple[str, str]:
    return (
        f"a batch of shape {values['shape']} is divided by one norm of all its samples: each "
        "sample depends on the others",
        "pass `dim=-1, keepdim=True` to the norm, or use `F.normalize(x, dim=-1)`",
    )


def _dropout_off(values: Values) -> tuple[str, str]:
    name = values["function"]
    return (
        f"{name} with p={values['p']:g} drops nothing, although the module trains: its argument "
        "`training` is False by default",
        "pass `training=self.training`",
    )


def _checkpoint(values: Values) -> tuple[str, str]:
    return (
        "a checkpoint with preserve_rng_state=False runs "
        f"{counted(values['dropouts'], 'dropout module')} again in backward, with other random "
        "numbers: its gradients are those of another forward",
        "remove `preserve_rng_state=False`",
    )


def _past_hidden(values: Values) -> tuple[str, str]:
    return (
        f"{values['argument']} is inverted: it hides each of the {values['size']:,} positions and "
        "all before it, since True marks what is hidden",
        "use `triu(1)`: True where a later position is hidden",
    )


def _zero_one_mask(values: Values) -> tuple[str, str]:
    return (
        f"{values['argument']} {values['shape']} of an attention is a float tensor of 0 and 1: it "
        "is added to the scores, and hides nothing",
        "pass a boolean mask, or -inf where a position is hidden and 0 elsewhere",
    )


def _repeated_mask(values: Values) -> tuple[str, str]:
    heads, samples = values["heads"], values["samples"]
    return (
        f"attn_mask repeats {samples} masks of samples {heads} times as a whole, but rows of an "
        "attention with heads are those of one sample after another: samples get masks of others",
        f"use `mask.repeat_interleave({heads}, dim=0)`",
    )


def _causal_offset(values: Values) -> tuple[str, str]:
    queries, keys = values["queries"], values["keys"]
    return (
        f"is_causal=True of an attention with {counted(queries, 'query', 'queries')} and {keys:,} "
        "keys counts both from the first: queries do not see the last "
        f"{counted(keys - queries, 'key')}",
        "pass a mask that is aligned to the last key: torch.nn.attention.bias.causal_lower_right",
    )


def _scaled_twice(values: Values) -> tuple[str, str]:
    return (
        f"the {values['side']} of scaled_dot_product_attention was multiplied by "
        f"{values['scale']:.4g}, 1/sqrt({values['size']}), which the function does as well",
        "remove the factor, or pass `scale=1.0`",
    )


def _masked_weights(values: Values) -> tuple[str, str]:
    return (
        "the weights of a softmax are multiplied by a mask of 0 and 1: those of a row add up to "
        f"{values['least']:.2g} only, in {counted(values['rows'], 'row')}",
        "fill the scores with -inf in front of the softmax: `scores.masked_fill(~mask, -inf)`",
    )


def _constant_average(values: Values) -> tuple[str, str]:
    shape = values["shape"]
    if values["of"] == "softmax":
        return (
            f"a softmax of shape {shape} is added up over its own dimension: the result is the "
            "same for all inputs",
            "sum over another dimension, or multiply by values first",
        )
    return (
        f"an average over the positions of {shape} follows an instance norm, which makes that "
        "average 0 for each sample and channel: the result is constant",
        "put an activation in between, or use another norm, as BatchNorm or LayerNorm",
    )


_SENTENCES = {
    "causal_offset": _causal_offset,
    "checkpoint": _checkpoint,
    "constant_average": _constant_average,
    "constant_mask": _constant_mask,
    "dropout_off": _dropout_off,
    "flag": _flag,
    "heads": _heads,
    "masked_weights": _masked_weights,
    "mixture": _mixture,
    "past_hidden": _past_hidden,
    "repeated_mask": _repeated_mask,
    "scaled_twice": _scaled_twice,
    "whole_norm": _whole_norm,
    "zero_one_mask": _zero_one_mask,
}


def _judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each argument that does not fit in a model."""
    found = misfits(report, PROBE)
    yield from findings_of_model(report, found, _SENTENCES)
    if not found and report.training is None:
        looked = any(one.probe == PROBE for one in report.measurements)
        yield passed("all arguments fit") if looked else skipped(NO_BACKWARD)


def _judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each argument that does not fit in a script."""
    facts = facts_of(report, PROBE)
    yield from findings_of_facts(facts, _SENTENCES)
    if not facts:
        yield without_findings(
            report,
            (PROBE,),
            "the functions of the script get arguments that fit",
            "no forward was looked at",
        )


RULE = Rule(
    name="function_arguments",
    early=True,
    severity="warning",
    of_training=True,
    diagnoses=True,
    looks_at="modules",
    says="functions and layers of PyTorch get arguments that fit each other",
    computes="Looks at functions as they are called, at the settings of modules, and at the graph "
    "of the loss. A mask must differ along the dimension of the softmax that follows it. An "
    "attention must be among positions: not among as many heads as an attribute of its module "
    "tells. The weights of a mixture must add up to 1 over the dimension that logsumexp adds up. A "
    "batch must not be divided by one norm of all its samples. Numbers must not be True or False, "
    "as if the argument `inplace` was meant. alpha_dropout must be on while its module trains, and "
    "a checkpoint of modules with dropout must keep the state of the generators.",
    formula="mask differs along softmax.dim; attention: [batch, heads, positions, size]",
    source="torch.nn.functional.scaled_dot_product_attention; torch.utils.checkpoint",
    fails="scores.masked_fill(mask[:, :, None], -1e9).softmax(-1); nn.LeakyReLU(True)",
    mend="give each argument the dimension, position or name that the function expects",
    example="{rule: function_arguments}",
    needs=lambda options: (BACKWARD, request_probe(PROBE)),
    watches=lambda options: (request_probe(PROBE),),
    judge=_judge,
    judge_run=_judge_run,
)
