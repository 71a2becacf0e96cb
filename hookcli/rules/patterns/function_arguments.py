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


_SENTENCES = {
    "checkpoint": _checkpoint,
    "constant_mask": _constant_mask,
    "dropout_off": _dropout_off,
    "flag": _flag,
    "heads": _heads,
    "mixture": _mixture,
    "whole_norm": _whole_norm,
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
