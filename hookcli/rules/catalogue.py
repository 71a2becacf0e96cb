"""The table of all rules, for `list rules`, `explain`, the parser of `checks` and the docs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hookcli.rules import (
    batch_independent,
    buckets,
    budget,
    comm_hook_error,
    compile_equal,
    deterministic,
    dtype,
    finite,
    firing_order,
    grad_exists,
    hook_misuse,
    hooks_fired,
    learning,
    module_type,
    no_hooks,
    parallel_equal,
    parameter_shape,
    ranks_agree,
    same_as,
    shapes,
    uncalled_modules,
)
from hookcli.rules.activations import (
    constant,
    dead_units,
    empty_mask,
    headroom,
    initialization,
    saturated,
)
from hookcli.rules.forwards import half_overflow, order_of_time, single_sample
from hookcli.rules.gradients import (
    all_frozen,
    connected,
    flow,
    frozen_by_mistake,
    grad_cuts,
    grad_path,
    grad_share,
    loss_terms,
    norms,
    wrong_backward,
)
from hookcli.rules.losses import loss_values
from hookcli.rules.patterns import (
    call_state,
    code_mistakes,
    function_arguments,
    graph_patterns,
    layer_use,
    module_values,
    sequences,
    user_code,
)
from hookcli.rules.rule import Rule
from hookcli.rules.script import (
    batch_contents,
    batch_dimension,
    batches,
    constructions,
    data_code,
    evaluation_code,
    frozen_attribute,
    frozen_parts,
    gradient_use,
    kept_graph,
    label_shift,
    loaded_weights,
    loss_direction,
    loss_size,
    losses,
    model_code,
    model_copies,
    predictions,
    recompilations,
    schedules,
    seeds,
    spikes,
    splits,
    unheld_model,
    unread_values,
)
from hookcli.rules.trainability import (
    batch_norm_single,
    causal,
    double_softmax,
    eval_mode,
    gradient_clipping,
    graph_shapes,
    initial_loss,
    loss_formulas,
    neutral,
    overfits_one_batch,
    tied_weights,
    unregistered_parameters,
    update_ratio,
)
from hookcli.rules.training import (
    finite_steps,
    grad_norm_grows,
    grad_norm_spikes,
    label_inputs,
    learning_rate,
    loss_falls,
    loss_spikes,
    modes,
    optimizer_model,
    optimizer_steps,
    scaler,
    unchanged_parameters,
    unheld_parameters,
    zero_grad_called,
)
from hookcli.spec.checks import CheckSpec, ProbeRequest
from hookcli.text import nearest

CATALOGUE: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        finite.RULE,
        grad_exists.RULE,
        grad_path.RULE,
        grad_cuts.RULE,
        connected.RULE,
        loss_terms.RULE,
        wrong_backward.RULE,
        grad_share.RULE,
        frozen_by_mistake.RULE,
        all_frozen.RULE,
        uncalled_modules.RULE,
        deterministic.RULE,
        batch_independent.RULE,
        hooks_fired.RULE,
        hook_misuse.RULE,
        no_hooks.RULE,
        flow.VANISHING,
        flow.EXPLODING,
        norms.NORM,
        norms.RATIO,
        dead_units.RULE,
        saturated.RULE,
        constant.ZERO_RULE,
        constant.VARIANCE_RULE,
        empty_mask.RULE,
        initialization.RULE,
        headroom.RULE,
        shapes.OUTPUT,
        shapes.INPUT,
        parameter_shape.RULE,
        dtype.RULE,
        module_type.RULE,
        budget.RULE,
        firing_order.RULE,
        learning.FROZEN,
        learning.TRAINABLE,
        same_as.RULE,
        ranks_agree.RULE,
        comm_hook_error.RULE,
        parallel_equal.RULE,
        compile_equal.RULE,
        buckets.RULE,
        initial_loss.RULE,
        overfits_one_batch.RULE,
        update_ratio.RULE,
        gradient_clipping.RULE,
        double_softmax.RULE,
        loss_formulas.CLIPPED,
        loss_formulas.NOISE_SCALE,
        loss_formulas.SIGN,
        loss_formulas.TARGETS,
        graph_shapes.BROADCASTS,
        graph_shapes.RESHAPED,
        graph_shapes.CLASSES,
        graph_patterns.SOFTMAX,
        graph_patterns.ONE_VALUE,
        graph_patterns.LINEAR,
        graph_patterns.CHOICE,
        graph_patterns.SIMILARITY,
        graph_patterns.NORM_DIMENSION,
        graph_patterns.SHORTCUT,
        layer_use.POOLED,
        layer_use.REUSE,
        call_state.RULE,
        call_state.CHANGED_INPUTS,
        module_values.STATISTICS,
        module_values.MASK,
        module_values.EQUAL,
        module_values.HIGH_DROPOUT,
        module_values.PADDING_RULE,
        single_sample.RULE,
        half_overflow.RULE,
        order_of_time.LATER_RULE,
        order_of_time.POSITIONS_RULE,
        batch_norm_single.RULE,
        eval_mode.STATELESS,
        eval_mode.DROPOUT,
        eval_mode.RANDOM,
        causal.RULE,
        tied_weights.RULE,
        unregistered_parameters.RULE,
        code_mistakes.RULE,
        user_code.RESULT,
        user_code.BACKWARD,
        user_code.INPUT,
        user_code.REPEAT,
        sequences.BATCH_POSITIONS,
        sequences.PADDED_STEPS,
        sequences.PADDING_EFFECT,
        user_code.SETTING,
        neutral.RULE,
        finite_steps.RULE,
        loss_falls.RULE,
        loss_spikes.RULE,
        grad_norm_grows.RULE,
        grad_norm_spikes.RULE,
        zero_grad_called.RULE,
        optimizer_steps.RULE,
        optimizer_model.RULE,
        unheld_parameters.RULE,
        unchanged_parameters.RULE,
        learning_rate.RULE,
        label_inputs.RULE,
        modes.EVAL,
        modes.GRAPHLESS,
        scaler.SKIPPED,
        scaler.SCALE,
        gradient_use.USED,
        gradient_use.CLIPPING,
        loaded_weights.RULE,
        schedules.STEPS,
        schedules.MODE,
        schedules.RESTARTS,
        losses.CONSTANT,
        loss_values.VALUES,
        function_arguments.RULE,
        losses.ENTROPY,
        frozen_attribute.RULE,
        label_shift.RULE,
        batches.RULE,
        unchanged_parameters.LOST,
        seeds.RULE,
        recompilations.RULE,
        unheld_model.RULE,
        constructions.RULE,
        model_copies.RULE,
        frozen_parts.RULE,
        loss_direction.RULE,
        batch_dimension.RULE,
        batch_contents.RULE,
        kept_graph.RULE,
        model_code.RULE,
        loss_size.RULE,
        unread_values.RULE,
        evaluation_code.RULE,
        data_code.RULE,
        predictions.RULE,
        splits.RULE,
        spikes.RULE,
    )
}
SAFE: tuple[CheckSpec, ...] = tuple(
    CheckSpec(rule.name) for rule in CATALOGUE.values() if rule.safe
)
RANKS: tuple[CheckSpec, ...] = tuple(
    CheckSpec(rule.name) for rule in CATALOGUE.values() if rule.ranks
)
# Judged for the verdict of each run, if nothing else names them.
DIAGNOSING: tuple[CheckSpec, ...] = tuple(
    CheckSpec(rule.name, severity="warning", only_failures=True)
    for rule in CATALOGUE.values()
    if rule.diagnoses and not rule.safe
)
# Judged for each training, if nothing else names them: what the steps alone can tell.
TRAINING: tuple[CheckSpec, ...] = tuple(
    CheckSpec(rule.name) for rule in CATALOGUE.values() if rule.of_training
)


def with_training_set(checks: tuple[CheckSpec, ...]) -> tuple[CheckSpec, ...]:
    """Return the checks of every training, followed by the given ones, which replace them.

    Rules that diagnose a model and are not about trainings follow, as warnings.
    """
    named = {check.rule for check in checks}
    own = {check.rule for check in TRAINING}
    usual = (*TRAINING, *(check for check in DIAGNOSING if check.rule not in own))
    return (*(check for check in usual if check.rule not in named), *checks)


def with_safe_set(
    checks: tuple[CheckSpec, ...], *, together: bool = False
) -> tuple[CheckSpec, ...]:
    """Return the safe set followed by the given checks.

    A given check of a rule of the safe set replaces it. If several ranks run `together`, the safe
    set includes the rules for ranks. Rules that diagnose follow the safe set.
    """
    named = {check.rule for check in checks}
    safe = (*SAFE, *(RANKS if together else ()), *DIAGNOSING)
    return (*(check for check in safe if check.rule not in named), *checks)


def rules_of_options() -> dict[str, str]:
    """Return the options that one rule alone has, with its name: `parameters` is of `budget`."""
    names = [(option.name, rule.name) for rule in CATALOGUE.values() for option in rule.options]
    count = Counter(option for option, _ in names)
    return {
        option: rule for option, rule in names if count[option] == 1 and option not in CATALOGUE
    }


def meant_rule(word: str) -> str | None:
    """Return the rule that a word is likely to mean: by its name, or by that of an option."""
    options = rules_of_options()
    guess = nearest(word, (*CATALOGUE, *options), ignore_case=True)
    return guess and options.get(guess, guess)


def probes_of(checks: tuple[CheckSpec, ...]) -> tuple[ProbeRequest, ...]:
    """Return the requests of all probes that the checks require, each once."""
    probes: dict[ProbeRequest, None] = {}
    for check in checks:
        rule = CATALOGUE[check.rule]
        options = rule.filled(check.options)
        needs = () if check.only_failures else rule.needs(options)
        probes.update(dict.fromkeys((*needs, *rule.watches(options))))
    return tuple(probes)


def looked_at(names: Iterable[str]) -> list[str]:
    """Return what these rules judge, each once; unknown rules are left out."""
    rules = (CATALOGUE.get(name) for name in names)
    return list(dict.fromkeys(rule.looks_at or f"`{rule.name}`" for rule in rules if rule))


def watched() -> tuple[ProbeRequest, ...]:
    """Return the requests of probes that the diagnosing rules need during any run."""
    rules = (rule for rule in CATALOGUE.values() if rule.diagnoses)
    return tuple(dict.fromkeys(probe for rule in rules for probe in rule.watches(rule.filled({}))))
