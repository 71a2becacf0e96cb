"""`constant_loss_term`: every term of the loss that the model computes has a gradient."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hookcli.report.path_ends.end_rows import TERM
from hookcli.report.path_ends.end_sentences import end, quoted
from hookcli.report.report import Report
from hookcli.rules.gradients.cut_advice import advice
from hookcli.rules.rule import FAKE, NO_BACKWARD, Options, Rule, RuleFinding, passed, skipped
from hookcli.spec.checks import BACKWARD, request_probe


def _advice(term: Mapping[str, Any]) -> str:
    """Return what to try; what is in front of the operator is trained, so it is not frozen."""
    return advice(term).partition(", or freeze")[0]


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each term of the loss that trains nothing."""
    if report.run.loss is None:
        yield skipped(NO_BACKWARD)
        return
    if report.run.tensors == "fake":
        yield skipped(FAKE)
        return
    found = [m.value for m in report.measurements if m.probe == TERM]
    terms = [value for value in found if isinstance(value, Mapping) and "behind" in value]
    for term in terms:
        added = f" at {term['sum']}" if term["sum"] else ""
        is_grad = term["operator"] == "grad"
        why = f"{end(term)} without `create_graph=True`" if is_grad else end(term)
        message = (
            f"a term that is added to the loss{added} trains nothing: it is computed from "
            f"{quoted(term['behind'])}, but {why}"
        )
        yield RuleFinding(
            "fail", term["layer"] or "", f"cut by {term['operator']}", message,
            place=term["place"] or term["sum"],
            advice="pass `create_graph=True`" if is_grad else _advice(term),
        )  # fmt: skip
    if not terms:
        yield passed("every term of the loss has a gradient")


RULE = Rule(
    name="constant_loss_term",
    severity="warning",
    diagnoses=True,
    looks_at="the loss",
    says="every term of the loss that is computed from trained parameters has a gradient",
    computes="If the autograd graph of the loss has a sum of scalars of which one has no gradient, "
    "the model runs once more, and every operator is followed. A term is a finding if it is "
    "computed from parameters that other terms train, and an operator on the way ends the "
    "gradient's path. Not judged: a term that is the value of the other one, as in "
    "x + (y - x).detach(), and the outputs of networks that no term trains.",
    formula="requires_grad(term), if the term depends on trained parameters",
    source="torch.autograd: a term without a gradient changes the value of a loss, not its minimum",
    fails="loss + mse(student.detach(), teacher); a penalty on argmax; "
    "autograd.grad(scores, x) without create_graph=True in a gradient penalty",
    mend="remove the operator that ends the gradient's path, or remove the term",
    example="{rule: constant_loss_term, severity: error}",
    needs=lambda options: (BACKWARD, request_probe("loss_sums"), request_probe(TERM)),
    watches=lambda options: (request_probe("loss_sums"), request_probe(TERM)),
    judge=judge,
)
