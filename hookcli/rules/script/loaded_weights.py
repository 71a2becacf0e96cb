"""`loaded_weights`: a checkpoint's weights arrive in the model that loads them."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.training import TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, judge_nothing, target_of, without_findings
from hookcli.text import counted


def judge_run(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each load whose keys do not fit the names of the model."""
    found = False
    for fact in facts_of(report, "loaded"):
        values = fact.values
        loaded, many, renamed = values["loaded"], values["parameters"], values["renamed"]
        if loaded and not renamed:
            continue
        found = True
        message = (
            f"load_state_dict loads {loaded:,} of {counted(many, 'parameter')} of '{fact.target}'"
        )
        advice = "pass `strict=True`, and make the keys those of `model.state_dict()`"
        if renamed:
            added, removed = values["added"], values["removed"]
            begin, where = (added, "the keys") if added else (removed, "the names of the model")
            fits = counted(renamed, "key")
            message += f": {where} begin with '{begin}', and {fits} would fit without it"
            advice = f"remove '{begin}' from each key, or load into the module that has it"
            if removed and not added:
                advice = f"add '{begin}' to each key, or load into that part of the model"
        elif values["begin"]:
            message += f": all keys begin with '{values['begin']}'"
        yield RuleFinding(
            "fail", target_of(fact), "loaded", message, loaded, many, fact.place,
            None if loaded else "error",
            advice=advice,
        )  # fmt: skip
    for fact in facts_of(report, "overwritten"):
        found = True
        message = (
            f"the weights that '{fact.target}' has loaded are overwritten before the first step: "
            f"its {counted(fact.values['weights'], 'largest weight')} are unlike those"
        )
        yield RuleFinding(
            "fail", target_of(fact), "overwritten", message, fact.values["weights"], 0, fact.place,
            advice="call load_state_dict after the weights are initialized",
        )  # fmt: skip
    one_model = {
        name for fact in facts_of(report, "same_model") for name in (fact.target, fact.values["of"])
    }
    for fact in facts_of(report, "own_tensors"):
        if fact.target in one_model:  # `model_copies` tells the cause
            continue
        found = True
        message = (
            f"load_state_dict gets references to the tensors of '{fact.target}' itself, "
            "not a copy of earlier values: it changes nothing"
        )
        advice = "keep `copy.deepcopy(model.state_dict())`: state_dict refers to live weights"
        if not fact.values.get("stepped", True):
            message = (
                f"load_state_dict gets the tensors of '{fact.target}' itself and changes nothing: "
                "perhaps no key of the checkpoint matched"
            )
            advice = "compare the keys of the checkpoint with those of `model.state_dict()`"
        yield RuleFinding(
            "fail", target_of(fact), "own", message, fact.count, 0, fact.place,
            advice=advice,
        )  # fmt: skip
    for fact in facts_of(report, "unused_model"):
        found = True
        kind, of = fact.values["type"], fact.values["of"]
        message = (
            f"weights are loaded into '{fact.target}' ({kind}), which never runs: another {kind}, "
            f"'{of}', is trained from its initialization"
        )
        yield RuleFinding(
            "fail", target_of(fact), "unused", message, fact.count, 0, fact.place,
            advice="load the weights into the model that is trained",
        )  # fmt: skip
    if not found:
        yield without_findings(
            report,
            ("loaded", "overwritten", "own_tensors", "unused_model"),
            "the weights that were loaded have arrived",
            "no weights were loaded",
        )


RULE = Rule(
    name="loaded_weights",
    severity="warning",
    of_training=True,
    looks_at="loaded weights",
    says="the weights of a checkpoint arrive in the model that loads them",
    computes="Counts the parameters that load_state_dict(strict=False) loads. Fails, with an "
    "error, if the checkpoint has keys and none of them is a parameter of the model; and if names "
    "that were left out are keys of the checkpoint with another beginning, such as 'module.'. A "
    "head that is replaced, whose keys are others, passes. Fails too if the largest weights that "
    "were loaded are unlike those that the first step trains: their values are not correlated; or "
    "if the state that is loaded has the memory of the model's own parameters; or if the model "
    "that gets the weights never runs, and another one of its class, which gets none, is trained "
    "later.",
    formula="parameters with a key in the state_dict > 0, and no key = prefix + parameter",
    source="torch.nn.Module.load_state_dict: with strict=False, keys that do not fit are ignored",
    fails="the checkpoint of a model in DataParallel or Lightning: each key begins with 'module.' "
    "or 'model.'",
    mend="remove the prefix from the keys; pass strict=True",
    example="{rule: loaded_weights, severity: error}",
    judge=judge_nothing,
    judge_run=judge_run,
)
