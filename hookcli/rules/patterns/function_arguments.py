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
from hookcli.rules.patterns.argument_sentences import NOTES, SENTENCES
from hookcli.rules.rule import NO_BACKWARD, Options, Rule, RuleFinding, passed, skipped
from hookcli.rules.script.facts import facts_of, without_findings
from hookcli.spec.checks import BACKWARD, request_probe

PROBE = "function_arguments"


def _is_note(what: str, values: Values) -> bool:
    return what in NOTES


def _judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each argument that does not fit in a model."""
    found = misfits(report, PROBE)
    yield from findings_of_model(report, found, SENTENCES, _is_note)
    if not found and report.training is None:
        looked = any(one.probe == PROBE for one in report.measurements)
        yield passed("all arguments fit") if looked else skipped(NO_BACKWARD)


def _judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each argument that does not fit in a script."""
    facts = facts_of(report, PROBE)
    yield from findings_of_facts(facts, SENTENCES, _is_note)
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
    computes="Looks at functions as they are called, at the settings of modules, "
    "and at the graph of the loss. Attention: a mask must differ along the dimension of the "
    "softmax that follows it, must not hide the past, must not be a float tensor of 0 and 1, "
    "and must not multiply weights that are not normalized again; masks of samples must be in "
    "the order of rows with heads; is_causal needs as many queries as keys, and scores are "
    "scaled once; positions attend to positions, not heads to as many heads as an attribute of "
    "the module tells. Resampling: sizes are (height, width), grids are (x, y) between -1 and 1 "
    "with the step of align_corners. Norms and averages: a batch must not be divided by one "
    "norm of all its samples, nor by one of a single element; F.normalize and layer_norm are "
    "over features; an average over what an instance norm or a softmax has normalized is "
    "constant; `x / x.sum(1)` keeps the dimension. Indices and signs: x[:, index] has one index "
    "for all samples, `x[index] += y` no index twice, scatter_reduce no zeros of its target, a "
    "softmax of distances a minus, cumprod of 1 - a no own factor, glu the dimension of "
    "channels, sorting one column, folds a divisor. The weights of a mixture must add up to 1 "
    "over the dimension that logsumexp adds up. Settings: numbers must not be True or False, "
    "dropout between layers needs layers, the bias of an LSTM is for its forget gate, strides "
    "skip nothing, pre-norm layers end with a norm, SELU needs AlphaDropout. alpha_dropout must "
    "be on while its module trains, dropout of channels must find them, and a checkpoint of "
    "modules with dropout must keep the state of the generators. What may be meant is a note.",
    formula="mask differs along softmax.dim; attention: [batch, heads, positions, size]",
    source="torch.nn.functional.scaled_dot_product_attention; torch.utils.checkpoint",
    fails="scores.masked_fill(mask[:, :, None], -1e9).softmax(-1); torch.cdist(x, y).softmax(-1)",
    mend="give each argument the dimension, position or name that the function expects",
    example="{rule: function_arguments}",
    needs=lambda options: (BACKWARD, request_probe(PROBE)),
    watches=lambda options: (request_probe(PROBE),),
    judge=_judge,
    judge_run=_judge_run,
)
