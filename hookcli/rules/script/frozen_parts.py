"""`frozen_parts`: frozen parts of a model do not change, and pass gradients on."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.training import ScriptFact, TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, judge_nothing, target_of, without_findings
from hookcli.text import counted

_KINDS = ("frozen_statistics", "frozen_zero", "frozen_embedding", "trained_base",
          "masked_gradient", "stepped_frozen")  # fmt: skip


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each frozen part that changes, or that adds nothing."""
    found = facts_of(report, *_KINDS)
    zeros = [fact for fact in found if fact.kind == "frozen_zero"]
    for fact in found:
        if fact in zeros[1:]:
            continue
        message, advice = _SENTENCES[fact.kind](fact, len(zeros))
        yield RuleFinding(
            "fail", target_of(fact), fact.kind, message, fact.count, 0, fact.place,
            "note" if fact.kind == "frozen_embedding" else None, advice=advice,
        )  # fmt: skip
    if not found:
        yield without_findings(
            report, _KINDS, "frozen parts stay as they are", "no optimizer made a step"
        )


def _statistics(fact: ScriptFact, _: int) -> tuple[str, str]:
    many = counted(len(fact.values["norms"]), "batch norm")
    return (
        f"'{fact.target}' is frozen, but in train mode: the running statistics of its {many} "
        "change with each batch, and its results in eval mode too",
        f"call `{fact.target}.eval()` after each `model.train()`",
    )


def _zero(fact: ScriptFact, many: int) -> tuple[str, str]:
    more = f"; so {'is' if many == 2 else 'are'} {counted(many - 1, 'other')}" if many > 1 else ""
    return (
        f"'{fact.target}' is frozen at zero: its layer adds nothing, and no step changes "
        f"that{more}",
        "call `requires_grad_(True)` on it before the optimizer is constructed",
    )


def _embedding(fact: ScriptFact, _: int) -> tuple[str, str]:
    return (
        f"'{fact.target}' is frozen: Embedding.from_pretrained freezes its weight by default",
        "pass freeze=False to train it",
    )


def _masked(fact: ScriptFact, _: int) -> tuple[str, str]:
    values = fact.values
    decay, is_all = values["weight_decay"], values["rows"] == values["of"]
    what = f"of '{fact.target}'" if is_all else f"of rows of '{fact.target}'"
    which = "it" if is_all else f"them, such as row {values['first']}"
    by = f"weight_decay={decay:g}" if decay else "what it keeps of earlier gradients"
    return (
        f"the script sets the gradient {what} to zero after backward, but the steps change "
        f"{which}: {values['optimizer']} moves values without a gradient by {by}",
        f"give '{fact.target}' a group with weight_decay=0 and without momentum, or copy the old "
        "values back after each step",
    )


def _base(fact: ScriptFact, _: int) -> tuple[str, str]:
    many = counted(fact.values["layers"], "layer")
    return (
        f"'{fact.target}' is trained together with its low-rank update, lora_A and lora_B, in "
        f"{many}: the base is not frozen",
        "call `requires_grad_(False)` on the base, and give the optimizer the other parameters",
    )


def _stepped(fact: ScriptFact, _: int) -> tuple[str, str]:
    values = fact.values
    decay, many = values["weight_decay"], counted(values["parameters"], "frozen parameter")
    by = f"weight_decay={decay:g}" if decay else "what it keeps of earlier gradients"
    return (
        f"{many}, such as '{fact.target}', still have a gradient of zeros, and "
        f"{values['optimizer']} goes on changing them by {by}",
        "set their `grad` to None when they are frozen, as `zero_grad()` does by default",
    )


_SENTENCES = {
    "stepped_frozen": _stepped,
    "trained_base": _base,
    "masked_gradient": _masked,
    "frozen_statistics": _statistics,
    "frozen_zero": _zero,
    "frozen_embedding": _embedding,
}

RULE = Rule(
    name="frozen_parts",
    severity="warning",
    of_training=True,
    looks_at="frozen parts",
    says="frozen parts of a model do not change, and pass gradients on",
    computes="Looks at the parameters of trained models that do not require grad, at some steps. "
    "Fails if a part whose parameters are all frozen, and stay as they are, has batch norms in "
    "train mode whose running statistics change; and if the weight of a linear layer or a "
    "convolution is frozen and all zeros. A layer whose "
    "weight is trained together with its lora_A fails too. An embedding that is frozen, while the "
    "source calls Embedding.from_pretrained without `freeze`, is a note. "
    "Fails too if frozen parameters of the optimizer still have gradients, and it changes them by "
    "weight decay or momentum. "
    "Fails too if the script sets the gradient of the same rows of a parameter to zero between "
    "backward and the step, and the step changes these rows, by weight decay or momentum.",
    formula="requires_grad is False implies that running statistics stay; frozen weights != 0",
    source="lightly-ai/lightly#1438; huggingface/transformers#26098; torch.nn.Embedding",
    fails="requires_grad_(False) on a backbone with batch norm that model.train() puts into train "
    "mode; adapters that are frozen with the model",
    mend="call eval() on the frozen part after model.train(); freeze before adapters are added",
    example="{rule: frozen_parts, severity: error}",
    judge=judge_nothing,
    judge_run=judge_run,
)
