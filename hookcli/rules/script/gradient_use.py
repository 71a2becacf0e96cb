"""`gradients_used` and `clipping_used`: what backward computes is used before it is erased."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.training import ScriptFact, TrainingReport
from hookcli.rules.rule import Options, Rule, RuleFinding
from hookcli.rules.script.facts import facts_of, judge_nothing, target_of, without_findings

_CLIPPED = (
    "clipped_each_pass",
    "unused_clipping",
    "scaled_clipping",
    "nothing_clipped",
    "clipped_then_scaled",
)
_KINDS = ("unused_term", "erased_gradient", "never_steps", "lost_backward", "kept_gradients",
          "detached_loss", "double_step", "repeated_backward", "scaled_step", "wrapped_loss",
          "never_erased")  # fmt: skip


def _used(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each gradient, or part of a loss, that no step uses."""
    found = facts_of(report, *_KINDS)
    for fact in found:
        message, advice = _SENTENCES[fact.kind](fact)
        yield RuleFinding(
            "fail", target_of(fact), fact.kind, message, fact.count, 0, fact.place,
            "note" if fact.values.get("together") else None, advice=advice,
            step=fact.step, cause=_CAUSES.get(fact.kind, ""),
        )  # fmt: skip
    if not found:
        yield without_findings(
            report,
            _KINDS,
            "optimizers use the gradients of backward",
            "no backward pass was looked at",
        )


_CAUSES = {"scaled_step": "loss_scale", "never_erased": "zero_grad_called"}


def _of(fact: ScriptFact) -> str:
    name = fact.values.get("of")
    return f" of '{name}'" if name else ""


def _unused_term(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    trained, source = values.get("trained"), values.get("source")
    whom = f"no gradient to '{trained}', which steps next" if trained else "no gradient to a step"
    message = f"the term '{fact.target}' of the loss gives {whom}"
    if source:
        message += f": it is computed from {source}"
        if values.get("of"):
            message += f", and trains only '{values['of']}', whose gradients are erased"
        return message, f"use the tensor itself instead of {source}"
    erased = f" at {values['at']}" if values.get("at") else ""
    return (
        f"{message}: its gradients{_of(fact)} are erased{erased} before they are used",
        f"check whether '{fact.target}' is computed from a detached tensor",
    )


def _erased(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"zero_grad at {fact.values['at']} erases the gradients between backward and the step, "
        "which has none",
        "call `optimizer.zero_grad()` before backward, or after the step",
    )


def _never_steps(fact: ScriptFact) -> tuple[str, str]:
    name, of = fact.target, fact.values.get("of")
    many = fact.values["erasures"]
    whose = f" '{of}' is never updated:" if of else ""
    kind = "" if name == fact.values["type"] else f" ({fact.values['type']})"
    return (
        f"{whose} '{name}'{kind} never steps, though it erases gradients {many:,} times".strip(),
        f"call `{name}.step()`; check whether another optimizer steps in its place",
    )


def _lost_backward(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    return (
        f"zero_grad at {values['at']} discards the gradients of {values['lost']:,} of "
        f"{values['passes']:,} backward passes before a step uses them",
        "call zero_grad after each step only, to accumulate gradients; or step after each backward",
    )


def _kept_gradients(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    return (
        f"zero_grad is called {values['resets']:,} times in {values['steps']:,} steps: each "
        "backward adds to gradients that earlier steps have used already",
        "call `optimizer.zero_grad()` once for each step, inside the loop over batches",
    )


def _detached_loss(fact: ScriptFact) -> tuple[str, str]:
    source = fact.values["source"]
    return (
        f"a step of {fact.target} has no gradient: the loss before it is computed from {source}",
        f"use the tensor itself instead of {source} in this loss",
    )


def _never_erased(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    return (
        f"zero_grad is never called for the gradients{_of(fact)}, in {values['steps']:,} steps of "
        f"{fact.target}: each backward adds to those of all steps before, also that of the loss of "
        "another model",
        "call `zero_grad` of this optimizer too, before its backward",
    )


def _wrapped_loss(fact: ScriptFact) -> tuple[str, str]:
    source = fact.values["source"]
    made = f", made by `{source}`" if source else ""
    return (
        f"a step of {fact.target} has no gradient: the loss before it is computed from a new "
        f"tensor alone{made}, which has no graph to the model",
        "compute the loss from the output of the model with operators of torch, without "
        "`torch.tensor` or `.item()`",
    )


def _double(fact: ScriptFact) -> tuple[str, str]:
    values = fact.values
    return (
        f"{values['again']:,} of {values['steps']:,} steps follow another step without a backward "
        "pass in between: they use the same gradients again",
        "call `optimizer.step()` once after each backward",
    )


def _repeated(fact: ScriptFact) -> tuple[str, str]:
    times = f"{fact.values['times']:.2g}"
    return (
        f"backward is called again for the same loss: gradients are {times} times as large",
        "call `loss.backward()` once for each loss, without `retain_graph`",
    )


def _scaled_step(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"{fact.target} steps with gradients that are multiplied by {fact.values['scale']:g}, the "
        "scale of GradScaler",
        "call `scaler.step(optimizer)` in place of `optimizer.step()`",
    )


_SENTENCES = {
    "scaled_step": _scaled_step,
    "double_step": _double,
    "repeated_backward": _repeated,
    "detached_loss": _detached_loss,
    "wrapped_loss": _wrapped_loss,
    "never_erased": _never_erased,
    "unused_term": _unused_term,
    "erased_gradient": _erased,
    "never_steps": _never_steps,
    "lost_backward": _lost_backward,
    "kept_gradients": _kept_gradients,
}


def _clipping(report: TrainingReport, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each line whose clipping has no effect, or another one than meant."""
    found = facts_of(report, *_CLIPPED)
    if any(fact.kind == "scaled_clipping" for fact in found):  # it names the scaler that divides
        found = [fact for fact in found if fact.kind != "clipped_then_scaled"]
    for fact in found:
        message, advice = _CLIPPING[fact.kind](fact)
        about = target_of(fact) if fact.kind in ("nothing_clipped", "unused_clipping") else ""
        yield RuleFinding(
            "fail", about, fact.kind, message, fact.count, 0, fact.place, advice=advice
        )
    if not found:
        yield without_findings(
            report, _CLIPPED, "steps use the gradients that are clipped", "nothing was clipped"
        )


def _unused_clipping(fact: ScriptFact) -> tuple[str, str]:
    what = f"gradients of '{fact.target}'" if fact.target else "gradients"
    erased = f" at {fact.values['at']}" if fact.values.get("at") else ""
    return (
        f"clipping the {what} has no effect: they are erased{erased} before a step",
        "clip the parameters of the optimizer that steps next, between backward and the step",
    )


def _scaled(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"gradients are clipped while they are multiplied by {fact.values['scale']:g}, the scale "
        "of GradScaler: nearly nothing is left of them",
        "call `scaler.unscale_(optimizer)` before the gradients are clipped",
    )


def _nothing_clipped(fact: ScriptFact) -> tuple[str, str]:
    if fact.values["exhausted"]:
        return (
            "clipping has no effect: its generator of parameters was used up by an earlier call",
            "pass `model.parameters()` in each call, or a list",
        )
    return (
        "clipping has no effect: no parameter that it gets has a gradient then, as before backward",
        "clip between backward and the step, the parameters of the optimizer that steps",
    )


def _clipped_then_scaled(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"gradients are clipped, and then divided by {fact.values['scale']:.4g} before the step: "
        "the limit was compared with gradients that still had this scale",
        "divide the gradients by the scale of the loss before they are clipped",
    )


def _each_pass(fact: ScriptFact) -> tuple[str, str]:
    return (
        f"gradients are clipped after each of {fact.values['passes']:,} backward passes of a step: "
        "the sum of clipped gradients is clipped again",
        "clip once, between the last backward and the step",
    )


_CLIPPING = {
    "clipped_each_pass": _each_pass,
    "clipped_then_scaled": _clipped_then_scaled,
    "unused_clipping": _unused_clipping,
    "scaled_clipping": _scaled,
    "nothing_clipped": _nothing_clipped,
}

USED = Rule(
    name="gradients_used",
    severity="warning",
    of_training=True,
    looks_at="the use of gradients",
    says="optimizers use the gradients that backward computes",
    computes="Follows the gradients of some backward passes of each line until an optimizer that "
    "has the parameters steps, or zero_grad erases them. Fails if zero_grad was called between "
    "backward and the step, so that the step has no gradient; if a term of the loss gives "
    "gradients only to parameters whose gradients are erased each time, while other terms are "
    "used; or if an optimizer erases gradients and never steps, nor does another one that has its "
    "parameters; or if a step without gradients follows a loss that depends on one new tensor "
    "alone. With one optimizer alone, it also fails if zero_grad erases the gradients of more "
    "than half of the backward passes of a line that steps use, if it is called in at most a "
    "quarter of the steps, if nearly half of the steps follow another step without a backward, or "
    "if backward is called again for the same loss in half of the steps. "
    "Gradients that only the script reads are not judged.",
    formula="backward, then step, then zero_grad, for the parameters of each term of the loss",
    source="torch.optim.Optimizer.zero_grad; the training loop of PyTorch's tutorials",
    fails="g_opt.step() called twice, and d_opt.step() never; the loss of a generator that gets "
    "discriminator(fake.detach())",
    mend="call zero_grad, backward and step in this order, of the optimizer that has the "
    "parameters",
    example="{rule: gradients_used, severity: error}",
    judge=judge_nothing,
    judge_run=_used,
)

CLIPPING = Rule(
    name="clipping_used",
    severity="warning",
    of_training=True,
    looks_at="clipping",
    says="gradients are clipped before an optimizer uses them",
    computes="Follows the parameters that clip_grad_norm_ or clip_grad_value_ gets until an "
    "optimizer that has them steps, or zero_grad erases their gradients. Fails if they are erased "
    "each time, if GradScaler has scaled the loss and unscale_ was not called before, if the "
    "parameters had no gradient at each look, or if they are clipped between the backward passes "
    "of a step. A norm that is only computed, with an infinite "
    "limit, is not judged.",
    formula="clip, then step, of the same parameters",
    source="torch.nn.utils.clip_grad_norm_: it changes the gradients that exist when it is called; "
    "PyTorch's examples of automatic mixed precision, Gradient clipping",
    fails="clip_grad_norm_(critic.parameters(), 0.5) before policy_optimizer.step(); clipping "
    "after the step",
    mend="clip the parameters of the optimizer that steps next",
    example="{rule: clipping_used, severity: error}",
    judge=judge_nothing,
    judge_run=_clipping,
)
