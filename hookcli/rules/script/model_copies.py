"""`model_copies`: weight averages, target networks and teachers are updated and used as such."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.findings import Severity
from hookcli.report.training import ScriptFact, TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, judge_nothing, target_of, without_findings
from hookcli.text import counted, join_names

_KINDS = ("stale_statistics", "unchanged_copy", "teacher_mode", "trained_copy", "same_model",
          "moves_away")  # fmt: skip


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each copy that is not what it is used for."""
    found = facts_of(report, *_KINDS)
    for fact in found:
        message, advice = _SENTENCES[fact.kind](fact)
        yield RuleFinding(
            "fail", target_of(fact), fact.kind, message, fact.count, 0, fact.place,
            _severity(fact),
            cause="optimizer_model" if fact.kind == "trained_copy" else "", advice=advice,
        )  # fmt: skip
    if not found:
        yield without_findings(
            report,
            _KINDS[:1],
            "models that are only called are up to date, and in eval mode",
            "no model is called that no optimizer has",
        )


def _severity(fact: ScriptFact) -> Severity | None:
    """Return the severity of a fact; None for that of the rule."""
    if fact.kind == "trained_copy":
        return "error"
    return "note" if fact.kind == "same_model" and not fact.values["calls"] else None


def _stale(fact: ScriptFact) -> tuple[str, str]:
    many, first = counted(fact.values["norms"], "batch norm"), fact.values["first"]
    return (
        f"'{fact.target}' changes with the model, but not its buffers: the running statistics of "
        f"{many}, such as '{first}', are those of the constructor, and eval mode uses them",
        f"copy the buffers of the model to '{fact.target}' too, when its parameters are updated",
    )


def _unchanged(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"'{fact.target}' is never updated in {fact.values['steps']:,} steps of "
        f"'{fact.values['of']}', of which it is a copy",
        f"copy the weights of '{fact.values['of']}' to it, each step or every few steps",
    )


def _mode(fact: ScriptFact) -> tuple[str, str]:
    names = join_names([f"'{name}'" for name in fact.values["modules"]], 2)
    return (
        f"'{fact.target}' is only called under no_grad, in train mode, though nothing trains it: "
        f"{names} work as in training",
        f"call `{fact.target}.eval()` once, in front of the loop",
    )


def _trained_copy(fact: ScriptFact) -> tuple[str, str]:
    copy, many = fact.values["copy"], fact.values["copies"]
    return (
        f"'{fact.target}' is never called and gets no gradient: {counted(many, 'copy', 'copies')} "
        f"of it, such as '{copy}', are called instead, and a copy has no graph to its original",
        "call the model itself, or use `torch.func.functional_call` with its changed parameters",
    )


def _same(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"'{fact.target}' and '{fact.values['of']}' are one model, not a model and its copy: each "
        "step changes both",
        f"make a copy: `{fact.target} = copy.deepcopy({fact.values['of']})`",
    )


def _moves_away(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"the average '{fact.target}' is moved away from the parameters: its difference from them "
        "is added, and must be subtracted",
        f"subtract it, or use `{fact.target}.lerp_(parameter, 1 - decay)`",
    )


_SENTENCES = {
    "moves_away": _moves_away,
    "same_model": _same,
    "stale_statistics": _stale,
    "unchanged_copy": _unchanged,
    "teacher_mode": _mode,
    "trained_copy": _trained_copy,
}

RULE = Rule(
    name="model_copies",
    severity="warning",
    of_training=True,
    looks_at="models without an optimizer",
    says="weight averages, target networks and teachers are updated and used as such",
    computes="Looks at the models that no optimizer has. Fails if one that changes has batch norms "
    "in eval mode with the running statistics of their constructor, while those of the model with "
    "the same form have others; if one that is named as a target or an average, and has the form "
    "of a trained model, is the same in 60 steps, though no line of the script writes weights, or "
    "another such copy changes; if "
    "one that never changes is only called under no_grad, in train mode, with dropout or batch "
    "norm; if a name of a target, teacher or average stands for the very model that is trained; "
    "or if copies of the model that an optimizer has get the gradients instead of it.",
    formula="buffers(average) follow buffers(model); target changes; teacher.training is False",
    source="Tarvainen and Valpola 2017, Mean teachers; torch.optim.swa_utils.update_bn",
    fails="an average over model.parameters() alone; a target network that is never synchronised",
    mend="average the buffers too; copy the weights to the target; call teacher.eval()",
    example="{rule: model_copies, severity: error}",
    judge=judge_nothing,
    judge_run=judge_run,
)
