"""`loss_values`: loss functions and distributions get what they are made for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hookcli.report.findings import Measurement
from hookcli.report.report import Report
from hookcli.report.training import ScriptFact, TrainingReport
from hookcli.rules.losses.call_sentences import CALL_SENTENCES
from hookcli.rules.losses.misfits import findings_of_facts, findings_of_model, misfits
from hookcli.rules.losses.policy_sentences import POLICY_SENTENCES
from hookcli.rules.losses.value_sentences import VALUE_SENTENCES
from hookcli.rules.rule import FAKE, Options, Rule, RuleFinding, passed, skipped
from hookcli.rules.script.facts import facts_of, without_findings
from hookcli.rules.trainability.losses import without_loss
from hookcli.rules.training.series import maximizes
from hookcli.spec.checks import BACKWARD, request_probe

PROBE = "loss_values"
_SENTENCES = {**CALL_SENTENCES, **POLICY_SENTENCES, **VALUE_SENTENCES}
_SIGNS = {"entropy", "negated", "surrogate"}
_LEAST = 2  # looks at a loss with a minus sign
_DROPPED = 0.2  # of the outputs: so few are a regularization, as in PyTorch's tutorial of names
_NOTES = {
    "kl_mean", "kl_reversed", "masked_mean", "single_norm", "divergence_mean", "divergence_sum",
    "bare_returns", "squared_shares", "prior_first", "ctc_short", "weights",
}  # fmt: skip
# What other rules find in the graph of a model's loss, with the probes of these rules.
_FOUND_BY = {
    "relu": "logit_activations", "sigmoid": "loss_inputs", "nll_loss": "loss_inputs",
    "ctc_input": "loss_inputs",
}  # fmt: skip


def _is_note(what: str, values: Mapping[str, Any]) -> bool:
    """Return whether something may be meant."""
    few = what == "dropped" and values["p"] < _DROPPED
    drawn = what == "no_derivative" and values["function"] != "torch.normal"
    return few or drawn or what in _NOTES or bool(values.get("exclusive"))


def _judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each thing that the loss of a model gets, and is not made for."""
    found = [one for one in misfits(report, PROBE) if not _is_found(one, report)]
    yield from findings_of_model(report, found, _SENTENCES, _is_note)
    if not found and report.training is None:
        nothing = skipped(FAKE) if report.run.tensors == "fake" else without_loss(report)
        yield nothing or passed("the loss of the model gets values that it is made for")


def _is_found(one: Measurement, report: Report) -> bool:
    """Return whether another rule tells the same."""
    probe = _FOUND_BY.get(one.value["what"])
    return probe is not None and any(other.probe == probe for other in report.measurements)


def _judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each loss function whose inputs or targets it is not made for."""
    facts = [fact for fact in facts_of(report, PROBE) if _counts(fact, report)]
    yield from findings_of_facts(facts, _SENTENCES, _is_note)
    if not facts:
        yield without_findings(
            report,
            (PROBE,),
            "losses get values that they are made for",
            "no backward pass was looked at",
        )


def _counts(fact: ScriptFact, report: TrainingReport) -> bool:
    """Return whether a fact is a finding: a loss is made large on purpose in turn with another.

    So it is by an optimizer that maximizes.
    """
    if fact.target in _SIGNS and any(maximizes(one.training) for one in report.records):
        return False
    return fact.target != "negated" or (len(report.records) == 1 and fact.count >= _LEAST)


VALUES = Rule(
    name="loss_values",
    early=True,
    severity="warning",
    of_training=True,
    looks_at="the loss",
    says="loss functions and distributions get values that they are made for",
    computes="Looks at the arguments of loss functions and distributions of PyTorch, "
    "as they are called, and at the graph of the loss: of a model's forward, and of some steps "
    "of a script. Inputs must be logits, log-probabilities or rates, and targets classes, "
    "probabilities, signs or counts, as the documentation of each function says. Values count "
    "as probabilities if they add up to 1 along a dimension. A sample that a module gets must "
    "be drawn by `rsample`, unless its log_prob is computed. No dropout may be between the last "
    "layer and a loss. Weights of classes must not rise with their counts, and pos_weight not "
    "lower rare positives. Notes are what may be meant: a mean of which a mask sets half to "
    "zero, kl_div with reduction 'mean', terms that are weighed by the size of the others.",
    formula="labels != blank; input(kl_div) <= 0; 0 <= targets(binary_cross_entropy) <= 1",
    source="torch.nn.CTCLoss: targets cannot be blank; torch.nn.KLDivLoss: input in log space",
    fails="nn.CTCLoss() with labels from 0; F.kl_div(softmax(x), target); targets of -1 and 1",
    mend="set blank to the class that no label has; replace softmax by log_softmax",
    example="{rule: loss_values, severity: error}",
    diagnoses=True,
    needs=lambda options: (BACKWARD, request_probe(PROBE)),
    watches=lambda options: (request_probe(PROBE),),
    judge=_judge,
    judge_run=_judge_run,
)
