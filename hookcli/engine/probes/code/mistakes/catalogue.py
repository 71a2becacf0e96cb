"""The mistakes that code is searched for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from hookcli.engine.probes.code.mistakes import (
    arguments,
    formulas,
    layers,
    measures,
    modules,
    orders,
    returns,
    samples,
    scripts,
    segmentation,
    statements,
    sums,
    unread,
)
from hookcli.engine.probes.code.mistakes.searched_code import Mistake, Search, SearchedCode
from hookcli.engine.probes.code.user_source import parsed

MOST_TEXT = 250_000  # characters of files that are searched
SEARCHES: dict[str, Search] = {
    "uncalled_method": statements.uncalled_methods,
    "lost_comparison": statements.lost_comparisons,
    "lost_sum": statements.lost_sums,
    "or_of_types": statements.types_joined_by_or,
    "or_of_texts": statements.texts_joined_by_or,
    "misspelled": statements.misspelled_attributes,
    "mode_method": modules.mode_methods,
    "first_pass": modules.returns_of_first_passes,
    "overwritten_module": modules.overwritten_modules,
    "made_twice": modules.modules_made_twice,
    "two_names": modules.modules_with_two_names,
    "unused_layer": modules.unused_layers,
    "lost_random": modules.lost_random_values,
    "unread_gradient": modules.backwards_without_gradient,
    "cut_fraction": statements.cut_fractions,
    "cancelled_sum": statements.cancelled_sums,
    "joined_twice": statements.joined_twice,
    "state_cut": layers.states_cut_each_step,
    "tiny_fill": statements.tiny_fills,
    "best_not_copied": scripts.best_without_copy,
    "unset_epoch": scripts.epochs_without_shuffle,
    "unsaved_schedule": scripts.schedules_without_state,
    "overwritten_setting": modules.overwritten_settings,
    "predicts_in_train_mode": modules.predictions_in_train_mode,
    "one_for_all_layers": modules.layers_called_for_all,
    "nll_of_logits": measures.losses_of_logits,
    "mean_by_samples": sums.means_over_samples,
    "used_up": statements.used_up_generators,
    "hook_result": returns.hooks_without_result,
    "first_group": scripts.rates_of_first_group,
    "rate_attribute": scripts.rates_as_attributes,
    "average_not_updated": scripts.averages_without_updates,
    "average_statistics": scripts.averages_without_statistics,
    "other_quantity": arguments.other_quantities,
    "swapped_arguments": arguments.swapped_arguments,
    "swapped_roles": arguments.swapped_roles,
    "plain_for_log": arguments.plain_for_logarithms,
    "split_samples": arguments.split_samples,
    "padding_order": arguments.paddings_by_height,
    "grid_order": arguments.grids_by_row,
    "open_one_hot": arguments.open_one_hots,
    "wrapped_target": arguments.wrapped_targets,
    "equal_parts": arguments.equal_parts,
    "exchanged_meshgrid": arguments.exchanged_meshgrids,
    "frozen_embedding": arguments.frozen_embeddings,
    "whole_circle": arguments.whole_circles,
    "lost_dimension": arguments.lost_dimensions,
    "saved_method": statements.saved_methods,
    "split_order": samples.orders_of_splits,
    "fit_to_tests": samples.fits_to_tests,
    "mixed_splits": samples.mixed_splits,
    "other_split": samples.loaders_of_other_splits,
    "other_transform": samples.transforms_of_other_splits,
    "separate_shuffles": samples.separate_shuffles,
    "before_shuffle": samples.lists_before_shuffles,
    "unpacked_order": orders.unpacked_orders,
    "returned_order": orders.returned_orders,
    "class_numbers": orders.class_numbers,
    "joined_dimensions": orders.joined_dimensions,
    "crossed_sizes": orders.crossed_sizes,
    "overwritten_total": sums.overwritten_totals,
    "last_batch": sums.values_of_last_batches,
    "counter_not_reset": sums.counters_without_reset,
    "best_not_updated": sums.best_never_updated,
    "loaders_apart": samples.separately_shuffled_loaders,
    "uncalled_model": scripts.models_that_nobody_calls,
    "loss_by_samples": sums.losses_over_samples,
    "metric_not_reset": sums.metrics_without_reset,
    "logits_at_half": measures.logits_at_half,
    "penalty_without_abs": measures.penalties_without_abs,
    "one_for_folds": samples.models_of_several_folds,
    "batch_scores": measures.scores_of_batches,
    "hard_scores": measures.scores_of_decisions,
    "repeated_split": samples.splits_of_repeated_samples,
    "shared_transform": samples.transforms_of_shared_data,
    "other_loader": sums.sums_by_other_loaders,
    "divided_twice": sums.quotients_of_quotients,
    "divided_mean": sums.divided_means,
    "mean_of_one": sums.means_of_one,
    "equal_worker_seeds": scripts.equal_worker_seeds,
    "state_left_behind": scripts.states_left_behind,
    "turned_alone": scripts.turned_alone,
    "temperature": scripts.temperatures_both_ways,
    "turned_apart": scripts.turned_by_separate_draws,
    "own_range": scripts.scaled_by_own_ranges,
    "state_before_schedule": scripts.states_before_schedules,
    "changed_before_read": scripts.changed_before_read,
    "separate_permutations": scripts.separate_permutations,
    "no_self_loops": scripts.neighbours_without_self,
    "swapped_states": layers.swapped_states,
    "swapped_values": layers.swapped_keys_and_values,
    "heads_first": layers.heads_before_positions,
    "heads_in_front": layers.heads_left_in_front,
    "implicit_softmax": layers.implicit_softmaxes,
    "packed_by_time": layers.packed_by_time,
    "rising_frequencies": layers.rising_frequencies,
    "blended_labels": layers.blended_labels,
    "not_turned_back": layers.states_not_turned_back,
    "kept_from_eval": layers.settings_kept_from_evaluation,
    "init_of_another": layers.initializations_of_another,
    "buffers_in_list": layers.buffers_in_lists,
    "state_not_passed": layers.states_not_passed_on,
    "unread_sum": layers.sums_nobody_reads,
    "focal_side": segmentation.focal_sides,
    "shifted_logsigmoid": segmentation.shifted_logsigmoids,
    "init_after_norm": layers.initialized_after_norms,
    "scale_in_buffer": layers.scales_in_buffers,
    "unscaled_drop": layers.unscaled_drops,
    "temperature_factor": formulas.temperatures_as_factors,
    "graphless_result": statements.graphless_results,
    "wrong_rate": measures.wrong_rates,
    "wrong_error": measures.wrong_errors,
    "weight_by_frequency": measures.weights_by_frequency,
    "ratio_of_logs": measures.ratios_of_logarithms,
    "rising_actor": measures.rising_actors,
    "target_copied": measures.targets_copied_back,
    "exchanged_mixture": measures.exchanged_mixtures,
    "turned_distance": measures.distances_turned_around,
    "target_entropy": measures.positive_target_entropies,
    "own_scale": measures.scaled_by_own_values,
    "scaled_alone": measures.scaled_alone,
    "earlier_rewards": returns.sums_of_earlier_rewards,
    "reversed_returns": returns.returns_in_reverse,
    "rewards_alone": returns.rewards_alone,
    "inverted_exploration": returns.inverted_explorations,
    "averaged_logs": returns.averaged_log_probabilities,
    "value_of_end": returns.values_of_ends,
    "floored_fraction": formulas.floored_fractions,
    "variance_twice": formulas.variances_of_variances,
    "shifted_factor": formulas.shifted_factors,
    "limited_log": formulas.limited_logarithms,
    "entropy_added": formulas.entropies_added,
    "squared_variance": formulas.squared_variances,
    "batch_mean": formulas.means_of_whole_batches,
    "noise_variance": formulas.noise_by_variance,
    "no_tanh": formulas.corrections_without_tanh,
    "equal_waves": formulas.equal_waves,
    "no_shortcut": formulas.blocks_without_shortcut,
    "dice_factor": segmentation.dice_without_two,
    "wide_union": segmentation.unions_with_intersection,
    "focal_average": segmentation.averaged_focal_losses,
    "narrow_union": segmentation.unions_of_one_mask,
    "focal_power": segmentation.focal_powers,
    "swapped_normalization": formulas.swapped_normalizations,
    "worse_kept": formulas.worse_values_kept,
    "count_by_batches": formulas.counts_by_batches,
    "inverted_padding": formulas.inverted_padding,
    "bound_of_log": formulas.bounds_of_logarithms,
    "sum_of_shares": formulas.sums_of_shares,
    "no_unfreeze": scripts.setters_of_trained_alone,
    "wrong_side": formulas.paddings_of_wrong_sides,
    "unread_end": unread.unread_ends,
    "unread_train_mask": unread.unread_train_masks,
    "size_of_other_split": unread.sizes_of_other_splits,
    "count_of_last_batch": unread.counts_of_last_batches,
}


# What a file must name to have a mistake: the other searches look at all files.
_NAMED = {
    "split_samples": r"\bchunk\b",
    "padding_order": r"\bpad\b",
    "grid_order": "grid_sample",
    "open_one_hot": "one_hot",
    "wrapped_target": r"\broll\b",
    "equal_parts": r"\b(repeat|expand|repeat_interleave)\b",
    "exchanged_meshgrid": "meshgrid",
    "focal_side": "gamma",
    "shifted_logsigmoid": "logsigmoid",
    "rate_attribute": r"\boptim\b",
    "average_not_updated": "AveragedModel",
    "average_statistics": "AveragedModel",
    "init_after_norm": "weight_norm",
    "scale_in_buffer": "register_buffer",
    "unscaled_drop": "drop",
    "temperature_factor": "temp|tau",
    "graphless_result": "autograd",
    "frozen_embedding": "from_pretrained",
    "whole_circle": r"\b(pi|tau)\b",
    "hook_result": "register_hook",
    "first_group": "param_groups",
    "unused_layer": r"dropout|lu\b|tanh|sigmoid|softplus|mish",
    "entropy_added": "entropy",
    "best_not_copied": "best",
    "unset_epoch": "DistributedSampler",
    "unsaved_schedule": "sched",
    "nll_of_logits": "nll_?loss",
    "mean_by_samples": r"\bmean\b",
    "joined_twice": r"\b(cat|concat\w*|h?stack)\b",
    "state_cut": r"\b(data|detach)\b",
    "own_range": "train",
    "state_before_schedule": "lr_scheduler",
    "lost_random": r"\brand|multinomial|bernoulli",
    "plain_for_log": r"\blog|\bln_",
    "divided_mean": "loss|cross_entropy",
    "divided_twice": "loss",
    "counter_not_reset": "patience|stop",
    "best_not_updated": "best",
    "batch_scores": "_score|matthews",
    "loss_by_samples": r"\bitem$",
    "metric_not_reset": r"\bcompute$",
    "logits_at_half": "logits",
    "penalty_without_abs": "penalty|reg|lasso|sparsity",
    "one_for_folds": "fold",
    "hard_scores": "_score|_curve",
    "repeated_split": "resample|sample|minority",
    "shared_transform": "transform",
    "loaders_apart": "DataLoader",
    "uncalled_model": r"\b(criterion|loss\w*)\b",
    "one_for_all_layers": r"block|layer|depth",
    "predicts_in_train_mode": "load_state_dict",
    "crossed_sizes": "height|width",
    "temperature": "temp|tau",
    "heads_in_front": "head",
    "packed_by_time": "pack",
    "wrong_error": "mse|mae|psnr|perplexity|ppl",
    "wrong_rate": "precision|recall|sensitivity|tpr|f1",
    "weight_by_frequency": "weight",
    "own_scale": "test|val",
    "scaled_alone": "train",
    "batch_mean": "adv",
    "rising_actor": "actor|policy",
    "swapped_values": "att",
    "implicit_softmax": "softmax",
    "bound_of_log": r"\bexp\b",
    "sum_of_shares": "softmax",
    "wrong_side": r"prev|before",
    "averaged_logs": r"log_?p",
    "unread_end": r"\b(dones?|\w*_dones?|terminals?|terminateds?)\b",
    "unread_train_mask": "train",
    "size_of_other_split": "train",
    "count_of_last_batch": "loader",
}


def mistakes_in(tree: ast.AST) -> list[tuple[str, Mistake]]:
    """Return the mistakes of a file or a definition: what they are, and where."""
    code = SearchedCode(tree)
    rows = (
        (name, found)
        for name, search in SEARCHES.items()
        if code.names(_NAMED.get(name, ""))
        for found in search(code)
    )
    return list(dict.fromkeys(rows))


@lru_cache(maxsize=256)
def mistakes_of_text(text: str) -> list[tuple[str, Mistake]]:
    """Return the mistakes of the text of a file; none if it cannot be parsed.

    None either if an expression is nested too deep for a search.
    """
    tree = parsed(text)
    try:
        return [] if tree is None else mistakes_in(tree)
    except RecursionError:
        return []


def module_spans(text: str, without: set[str]) -> list[tuple[int, int]]:
    """Return the lines of the modules that a file defines, without those of these names."""
    tree = parsed(text)
    return [
        (node.lineno, node.end_lineno or node.lineno)
        for node in (() if tree is None else tree.body)
        if isinstance(node, ast.ClassDef)
        and node.name not in without
        and any("Module" in ast.unparse(base) for base in node.bases)
    ]


def changed_inputs(forward: ast.AST) -> Iterator[tuple[ast.AugAssign, str]]:
    """Yield the statements of a forward that change an argument in place, as `x *= 2`.

    An argument that has got another value before is not the caller's tensor any more.
    """
    arguments = getattr(forward, "args", None)
    names = {one.arg for one in (arguments.args if arguments is not None else ())[1:]}
    for node in getattr(forward, "body", ()):
        target = node.target if isinstance(node, ast.AugAssign) else None
        if isinstance(node, ast.AugAssign) and isinstance(target, ast.Name) and target.id in names:
            yield node, target.id
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                names.discard(one.id)
