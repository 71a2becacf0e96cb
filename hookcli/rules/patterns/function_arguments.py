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
