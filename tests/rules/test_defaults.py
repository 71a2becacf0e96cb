"""What users rely on in each rule: its severity, when it is judged, and the defaults of options."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookcli.rules.catalogue import (
    CATALOGUE,
    looked_at,
    probes_of,
    watched,
    with_safe_set,
    with_training_set,
)
from hookcli.rules.rule import Rule, RuleOption
from hookcli.spec.checks import CheckSpec, request_probe

REQUIRED = "required"
ALL = {"at": ("*",)}
# Rule, severity, when it is judged without being asked for, and the defaults of its options.
RULES = [
    ("finite", "error", "safe diagnoses of_training", {}),
    ("grad_exists", "warning", "safe diagnoses of_training", ALL),
    ("grad_path", "warning", "diagnoses", {"at": ("*",), "all": False}),
    ("grad_cuts", "error", "", {"at": "*", "allow": (), "exact": False}),
    ("connected", "error", "", {"at": REQUIRED}),
    ("constant_loss_term", "warning", "diagnoses", {}),
    ("wrong_backward", "warning", "diagnoses", {}),
    ("grad_share", "error", "", {"at": REQUIRED, "share": REQUIRED, "within": 10.0}),
    ("frozen_by_mistake", "warning", "diagnoses", ALL),
    ("all_frozen", "warning", "diagnoses", {}),
    ("uncalled_modules", "warning", "safe diagnoses of_training", {"at": "*", "all": False}),
    ("deterministic", "error", "safe", {"modes": ("eval",)}),
    ("batch_independent", "warning", "safe", {"dim": None, "tolerance": None}),
    ("hooks_fired", "error", "safe", {}),
    ("hook_misuse", "error", "", {}),
    (
        "no_hooks",
        "error",
        "",
        {"at": ("*",), "kinds": ("*",), "functions": ("*",), "allow": (), "features": ()},
    ),
    ("vanishing_gradient", "warning", "diagnoses", {"ratio": 0.001, "trend": 0.7}),
    ("exploding_gradient", "warning", "diagnoses", {"ratio": 10000.0, "trend": 0.7}),
    ("grad_norm", "warning", "diagnoses", {"at": None, "min": 1e-07, "max": 100000000.0}),
    ("grad_to_weight", "warning", "", {"at": ("*",), "min": 1e-08, "max": 10}),
    ("dead_units", "warning", "diagnoses", {"at": ("*",), "share": 0.5, "values": 8}),
    (
        "saturated_activation",
        "warning",
        "diagnoses",
        {"at": ("*",), "share": 0.5, "ends": 0.9, "values": 32},
    ),
    ("all_zero", "warning", "diagnoses", {"at": ("*",), "zero_weights": False}),
    ("low_variance", "warning", "diagnoses", {"at": ("*",), "spread": 0.0, "zero_weights": False}),
    ("empty_mask", "warning", "diagnoses", ALL),
    ("poor_initialization", "warning", "", {"at": ("*",), "ratio": 10, "trend": 0.7}),
    (
        "range_headroom",
        "warning",
        "",
        {"at": ("*",), "dtype": "float16", "headroom": 0.1, "underflow": 0.1, "loss_scale": 65536},
    ),
    ("output_shape", "error", "", {"at": "", "shape": REQUIRED, "path": None}),
    ("input_shape", "error", "", {"at": "", "shape": REQUIRED, "path": None}),
    ("parameter_shape", "error", "", {"at": "*", "shape": REQUIRED}),
    ("dtype", "error", "", {"dtype": REQUIRED, "at": "*", "part": "output"}),
    ("module_type", "error", "", {"type": REQUIRED, "at": "", "settings": None}),
    (
        "budget",
        "error",
        "",
        {
            "parameters": None,
            "trainable_parameters": None,
            "parameter_bytes": None,
            "buffer_bytes": None,
            "macs": None,
            "flops": None,
            "activation_bytes": None,
            "calls": None,
            "at": None,
            "exact": False,
        },
    ),
    (
        "firing_order",
        "error",
        "",
        {"order": REQUIRED, "match": "subsequence", "kind": None, "at": "*", "within": None},
    ),
    ("frozen", "error", "", {"at": REQUIRED}),
    ("trainable", "error", "", {"at": REQUIRED}),
    ("same_as", "error", "", {"report": REQUIRED, "at": "*", "rtol": 0.0001}),
    ("ranks_agree", "error", "ranks of_training", {"at": "*", "rtol": None}),
    ("comm_hook_error", "error", "", {"limit": 0.01}),
    ("parallel_equal", "error", "", {"plan": "required", "mesh": "required", "tolerance": None}),
    ("compile_equal", "error", "", {"backend": "required", "mode": None, "tolerance": None}),
    ("buckets", "error", "", {"count": None, "bytes": None, "sent": None}),
    ("initial_loss", "warning", "", {"tolerance": 0.2, "classes": None, "expected": None}),
    ("overfits_one_batch", "error", "", {"steps": 30, "drop": 0.5, "lr": None}),
    ("update_ratio", "warning", "of_training", {"at": ("*",), "min": 1e-08, "max": 10.0}),
    ("gradient_clipping", "warning", "", {"limit": None, "least": 3}),
    ("double_softmax", "warning", "diagnoses", {}),
    ("clipped_logits", "warning", "diagnoses", {}),
    ("noise_scale", "warning", "diagnoses", {}),
    ("loss_sign", "warning", "diagnoses", {}),
    ("token_targets", "warning", "diagnoses", {}),
    ("loss_broadcasts", "warning", "diagnoses", {}),
    ("reshaped_axes", "warning", "diagnoses", {}),
    ("class_dimension", "warning", "diagnoses", {}),
    ("softmax_dimension", "warning", "diagnoses", {}),
    ("normalizes_one_value", "warning", "diagnoses", {}),
    ("linear_after_linear", "warning", "diagnoses", {}),
    ("equal_choices", "warning", "diagnoses", {}),
    ("self_similarity", "warning", "diagnoses", {}),
    ("norm_dimension", "warning", "diagnoses", {}),
    ("shortcuts", "warning", "diagnoses", {}),
    ("pooled_channels", "warning", "diagnoses", {}),
    ("reused_layer", "warning", "diagnoses", {}),
    ("state_between_calls", "warning", "diagnoses", {}),
    ("changed_inputs", "warning", "diagnoses of_training", {}),
    ("batch_norm_statistics", "warning", "diagnoses", {}),
    ("trained_mask", "warning", "diagnoses", {}),
    ("equal_units", "warning", "diagnoses", {}),
    ("high_dropout", "warning", "diagnoses", {}),
    ("padding_tokens", "warning", "diagnoses", {}),
    ("single_sample", "warning", "diagnoses", {}),
    ("half_overflow", "warning", "diagnoses", {}),
    ("causal_mask", "warning", "diagnoses", {}),
    ("position_effect", "warning", "diagnoses", {}),
    ("batch_norm_single", "warning", "", {"at": "*", "samples": 2, "values": 2}),
    ("eval_stateless", "warning", "", ALL),
    ("dropout_in_eval", "warning", "diagnoses", {}),
    ("random_in_eval", "warning", "diagnoses", {}),
    ("causal", "error", "", {"dim": 1, "input": None, "output": None, "tolerance": None}),
    ("tied_weights", "error", "diagnoses", {"at": (), "tied": True}),
    ("unregistered_parameters", "warning", "diagnoses", {}),
    ("code_mistakes", "warning", "diagnoses of_training", {}),
    ("discarded_result", "warning", "diagnoses", {}),
    ("module_backward", "warning", "diagnoses", {}),
    ("unread_input", "warning", "diagnoses", {}),
    ("repeated_module", "warning", "diagnoses", {}),
    ("batch_positions", "warning", "diagnoses", {}),
    ("padded_steps", "warning", "diagnoses", {}),
    ("padding_effect", "warning", "diagnoses", {}),
    ("unread_setting", "warning", "diagnoses", {}),
    ("neutral", "error", "", {}),
    ("finite_steps", "error", "of_training", {}),
    ("loss_falls", "warning", "of_training", {"steps": 60}),
    ("loss_spikes", "warning", "of_training", {"factor": 3.0, "deviations": 10.0}),
    ("grad_norm_grows", "warning", "of_training", {"factor": 100.0}),
    ("grad_norm_spikes", "warning", "of_training", {"factor": 100.0}),
    ("zero_grad_called", "error", "of_training", {}),
    ("optimizer_steps", "warning", "of_training", {}),
    ("optimizer_model", "warning", "of_training", {}),
    ("unheld_parameters", "warning", "of_training", ALL),
    ("unchanged_parameters", "warning", "of_training", ALL),
    ("learning_rate", "error", "of_training", {"share": 0.5}),
    ("label_in_inputs", "warning", "of_training", {}),
    ("eval_while_training", "warning", "of_training", ALL),
    ("graphless_training", "warning", "of_training", ALL),
    ("skipped_steps", "error", "of_training", {"share": 0.2}),
    ("loss_scale", "error", "of_training", {"least": 1.0}),
    ("gradients_used", "warning", "of_training", {}),
    ("clipping_used", "warning", "of_training", {}),
    ("loaded_weights", "warning", "of_training", {}),
    ("schedule_steps", "error", "of_training", {}),
    ("plateau_mode", "warning", "of_training", {}),
    ("warmup_restarts", "warning", "of_training", {"times": 3}),
    ("constant_term", "warning", "of_training", {}),
    ("loss_values", "warning", "diagnoses of_training", {}),
    ("function_arguments", "warning", "diagnoses of_training", {}),
    ("entropy_sign", "warning", "of_training", {}),
    ("frozen_attribute", "warning", "of_training", {}),
    ("label_shift", "warning", "of_training", {}),
    ("first_batch_only", "warning", "of_training", {}),
    ("lost_updates", "warning", "of_training", {"share": 0.9}),
    ("repeated_seed", "warning", "of_training", {}),
    ("recompilations", "warning", "of_training", {}),
    ("unheld_model", "warning", "of_training", {}),
    ("optimizer_construction", "warning", "of_training", {}),
    ("model_copies", "warning", "of_training", {}),
    ("frozen_parts", "warning", "of_training", {}),
    ("loss_direction", "warning", "of_training", {}),
    ("batch_dimension", "warning", "of_training", {}),
    ("batch_contents", "warning", "of_training", {}),
    ("kept_graph", "warning", "of_training", {}),
    ("model_code", "warning", "of_training", {}),
    ("loss_size", "warning", "of_training", {}),
    ("unread_values", "note", "of_training", {}),
    ("evaluation_code", "note", "of_training", {}),
    ("data_code", "note", "of_training", {}),
    ("single_prediction", "note", "of_training", {}),
    ("separate_splits", "warning", "of_training", {}),
    ("step_spikes", "warning", "of_training", {}),
]


def test_the_table_has_all_rules():
    assert [row[0] for row in RULES] == [*CATALOGUE], "add a row at the same position"


@pytest.mark.parametrize(("name", "severity", "judged", "options"), RULES)
def test_severity_and_defaults(name, severity, judged, options):
    rule = CATALOGUE[name]
    flags = ("safe", "ranks", "diagnoses", "of_training")
    assert rule.severity == severity
    assert [flag for flag in flags if getattr(rule, flag)] == judged.split()
    known = {one.name: REQUIRED if one.required else one.default for one in rule.options}
    assert known == options
    assert rule.filled({"other": 1}) == {
        "other": 1,
        **{one.name: one.default for one in rule.options},
    }


def test_a_rule_is_judged_only_if_it_is_asked_for_unless_it_says_so():
    assert RuleOption("at", "globs", "globs") == RuleOption("at", "globs", "globs", None, False)
    texts = dict.fromkeys(("computes", "formula", "source", "fails", "mend", "example"), "")
    rule = Rule("x", "error", "", **texts, needs=tuple, judge=tuple)
    flags = rule.safe, rule.ranks, rule.diagnoses, rule.of_training
    assert (flags, rule.looks_at, rule.judge_run, rule.options) == ((False,) * 4, "", None, ())
    assert rule.watches({}) == ()


def rules_with(flag, *others):
    """The rules of the table with a flag and none of the others."""
    flags = {name: judged.split() for name, _, judged, _ in RULES}
    return [
        name for name, own in flags.items() if flag in own and not any(one in own for one in others)
    ]


def test_the_sets_of_rules_that_nobody_has_to_ask_for():
    diagnosing = rules_with("diagnoses", "safe")
    ranks = rules_with("ranks")
    training = rules_with("of_training")
    asked = CheckSpec("finite", severity="warning"), CheckSpec("dead_units")
    for made, expected in (
        (with_safe_set(()), [*rules_with("safe"), *diagnosing]),
        (with_safe_set((), together=True), [*rules_with("safe"), *ranks, *diagnosing]),
        (with_training_set(()), [*training, *rules_with("diagnoses", "safe", "of_training")]),
    ):
        assert [check.rule for check in made] == expected
        for check in made:
            diagnoses = check.rule in diagnosing and check.rule not in (
                training if "loss_falls" in expected else ()
            )
            assert (check.severity, check.only_failures) == (
                ("warning", True) if diagnoses else (None, False)
            )
    for complete in (with_safe_set, with_training_set):
        others = [check for check in complete(()) if check.rule not in {"finite", "dead_units"}]
        assert complete(asked) == (*others, *asked)


def test_checks_need_their_probes_once_and_nobody_s_only_those_of_any_run():
    finite = CheckSpec("finite")
    requests = (
        (
            probes_of((finite, CheckSpec("grad_exists"), finite)),
            "values backward first_non_finite later_gradients other_routes zero_reasons",
        ),
        (probes_of((replace(finite, only_failures=True),)), "first_non_finite"),
        (
            watched(),
            "first_non_finite later_gradients other_routes zero_reasons unreached loss_sums "
            "idle_terms custom_functions function_gradients activations loss_inputs "
            "logit_activations relu_outputs noise_scales log_variances loss_signs "
            "token_targets loss_broadcasts "
            "reshaped_axes class_dimension softmax_axes masked_shares weak_masks unequal_scales "
            "scaled_shares "
            "sharp_scores "
            "single_norms linear_chains narrow_units equal_choices "
            "self_similarities norm_dimensions self_sums changed_shortcuts pooled_channels "
            "reused_layers kept_tensors call_state changed_inputs batch_norms frozen_norms "
            "trained_masks equal_units high_dropout padding_vectors inverted_masks "
            "pooled_padding squeezes one_sample half_values half_overflow causal_code "
            "later_positions open_decoders position_tensors position_effect "
            "rotary_axes position_tables shared_memory unregistered code_mistakes "
            "discarded_results "
            "module_backwards unread_inputs repeated_modules batch_positions last_steps "
            "padded_inputs padding_effect "
            "unread_settings loss_values function_arguments",
        ),
    )
    for made, names in requests:
        assert made == tuple(map(request_probe, names.split()))
    exact = request_probe("activations", exact=True)
    assert probes_of((CheckSpec("dead_units", {"share": 0.1}),)) == (exact,)


def test_what_rules_look_at_is_named_once():
    names = ["finite", "dtype", "grad_exists", "zz", "grad_path"]
    assert looked_at(names) == ["values", "`dtype`", "gradients"]
