"""What runs on a push of large products of parameters, and what runs at night only.

`pytest --whole`, as `make nightly` starts it, runs all tests. Each other session runs a part of the
cases of `PRODUCTS` and `LISTS`, the same each time, and of `NIGHTLY` only the tests that its
arguments name.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Sequence

import pytest

_COMPILED = "operators that torch.library registers in Python, without a compiler"

# Tests, each with how many of its parameters appear in all combinations of their values: 2 is each
# pair of values of two parameters, 1 is each value of each parameter, 0 is one case.
PRODUCTS: dict[str, int] = {
    # A model and a mode, a dtype and a size, a form and a command, a name and a hostile text.
    "tests/ci/test_action.py::test_no_input_is_run_or_taken_for_a_flag": 0,
    "tests/cli/test_init_preset.py::"
    "test_the_file_that_init_writes_gives_the_preset_s_report_byte_by_byte": 1,
    "tests/formats/test_views.py::test_names_do_no_harm": 2,
    "tests/hooks/test_compiled.py::test_hooks_on_every_module_fire_as_by_hand": 1,
    "tests/training/test_roots.py::"
    "test_the_root_is_the_whole_model_however_its_parts_are_called": 0,
    "tests/models/test_exported.py::test_a_sample_has_the_rows_and_gradients_of_its_source": 0,
    "tests/models/test_exported.py::test_calls_names_ties_and_regions_are_the_module_s": 1,
    "tests/models/torchscript/test_parity.py::test_a_scripted_module_tells_the_same": 1,
    "tests/outputs/test_sinks.py::test_no_name_is_a_command_in_a_report": 1,
    "tests/engine/test_flops.py::test_macs_equal_the_formula": 2,
    "tests/engine/test_neutrality.py::test_a_run_in_process_leaves_everything_as_it_was": 1,
    "tests/engine/test_statistics.py::test_every_dtype_and_size": 1,
    "tests/engine/test_statistics.py::test_the_norm_alone_is_that_of_all_figures": 2,
    "tests/engine/test_statistics.py::test_what_is_not_finite_follows_ieee": 2,
    # A process or several each: a signal and a phase, the states of three environments.
    "tests/worker/test_ahead.py::test_nothing_outlives_a_command_that_is_ended_early": 0,
    "tests/worker/test_interpreter.py::test_the_first_environment_with_torch_is_used": 2,
    "tests/worker/test_signals.py::test_a_signal_ends_all_and_says_where": 1,
    "tests/worker/test_whose_error.py::test_an_error_that_lies_is_told": 1,
    "tests/worker/test_whose_error.py::test_what_a_model_raises_is_the_models_fault": 1,
    "tests/ci/test_action.py::test_no_file_s_name_is_run_or_becomes_an_output": 0,
    "tests/worker/test_hostile.py::test_a_forward_without_end_is_ended_at_the_timeout": 0,
    # A library, a script or an architecture that is imported anew each.
    "tests/engine/test_odd_models.py::test_every_format_renders": 0,
    "tests/models/test_exported.py::"
    "test_an_architecture_has_the_rows_and_gradients_of_its_source": 0,
    "tests/engine/test_gradients.py::test_a_samples_gradients_are_those_of_plain_pytorch": 0,
    "tests/test_transformers.py::test_every_call_equals_hooks_attached_by_hand": 0,
}

# Tests with a long list of cases, each with N: a push runs the first of each N cases.
LISTS: dict[str, int] = {
    "tests/interpreters/test_start.py::test_a_command_runs_nothing_that_was_not_named": 3,
    "tests/api/test_arguments.py::test_any_argument_gives_a_result_or_an_error_of_hookcli": 3,
    "tests/worker/test_signals.py::test_closed_standard_streams_are_not_taken_for_ours": 3,
    "tests/rules/training/test_watched.py::test_a_healthy_training_has_no_finding": 3,
    "tests/rules/training/test_watched.py::test_what_is_trained_at_other_steps_is_not_accused": 2,
    "tests/training/compiled/test_compiled_modes.py::"
    "test_the_layer_that_makes_nan_is_named_with_its_operator": 2,
    "tests/ci/test_precommit.py::test_a_hook_s_entry_runs_as_pre_commit_would_run_it": 2,
    "tests/worker/test_interpreter.py::test_an_environment_that_cannot_run_hookcli_is_named": 6,
    "tests/worker/test_sabotage.py::"
    "test_what_a_model_writes_to_the_pipes_is_not_taken_for_the_report": 2,
    "tests/worker/test_progress.py::test_ctrl_c_leaves_a_clean_line": 2,
    "tests/engine/test_odd_models.py::test_rows_equal_hooks_attached_by_hand": 2,
    "tests/hooks/test_edits.py::test_an_edit_is_found_however_it_is_made": 3,
    "tests/cli/test_list_and_explain.py::"
    "test_everything_is_explained_under_its_full_name_and_its_own": 3,
    "tests/models/test_trusted_keys.py::test_a_value_that_is_not_in_the_table_is_refused": 3,
    "tests/models/test_pickle_scan.py::test_plain_values": 3,
    "tests/engine/test_statistics.py::test_norm_of_change": 3,
    "tests/engine/test_statistics.py::test_surroundings_change_nothing": 3,
    "tests/engine/test_dropped_probes.py::test_an_error_in_a_probe_ends_the_probe": 9,
    "tests/report/test_long_reports.py::test_a_large_number_is_found_at_any_place": 3,
    "tests/formats/test_colour.py::test_colour_is_where_the_command_s_formats_are_for_terminals": 3,
    "tests/cli/test_odd_inputs.py::"
    "test_what_a_flag_cannot_read_is_three_lines_that_say_what_it_is": 2,
    "tests/cli/test_odd_inputs.py::"
    "test_what_a_key_cannot_read_is_three_lines_that_say_what_it_is": 2,
    "tests/cli/test_odd_outputs.py::"
    "test_a_path_that_cannot_be_written_is_three_lines_that_say_what_it_is": 2,
    "tests/training/script/test_waiting.py::"
    "test_a_report_has_the_status_of_a_process_that_ends_otherwise_than_its_script": 3,
    "tests/training/test_children.py::test_what_was_seen_of_a_process_that_is_killed_is_kept": 2,
    "tests/training/script/test_waiting.py::"
    "test_a_script_that_is_ended_while_its_report_is_made_had_ended_before": 9,
    "tests/comparison/test_faults.py::test_a_planted_fault_is_found_at_its_call": 5,
    "tests/comparison/test_faults.py::test_the_first_difference_is_what_plain_pytorch_measures": 6,
    "tests/comparison/test_compiled_command.py::test_only_the_same_model_is_compared": 3,
    "tests/config/test_values_everywhere.py::"
    "test_a_name_that_no_file_can_have_is_read_or_refused": 2,
    "tests/faults/test_environment.py::test_a_folder_for_temporary_files_may_have_any_name": 6,
    "tests/faults/test_streams.py::test_closed_streams_do_not_stop_what_is_written_to_files": 2,
    "tests/faults/test_disk.py::test_on_a_full_disk_outputs_stay_as_they_were": 6,
    "tests/distributed/test_faults.py::test_a_rank_that_fails_is_named_with_its_step_and_layer": 6,
    "tests/distributed/test_hooks.py::test_a_wrong_hook_is_named_and_kills_nobody": 2,
    "tests/test_recipes.py::test_the_command_in_the_comment_runs": 6,
    "tests/mutation/test_mutation.py::test_a_change_takes_effect_wherever_the_code_is_held": 6,
    # Pages of documentation; `make nightly` and `make docs` run all of their examples.
    "tests/docs/test_examples.py::test_console_blocks_show_what_comes_out": 12,
    "tests/browser/test_without_scripts.py::test_the_tables_are_seen_where_no_script_runs": 9,
    "tests/browser/test_without_scripts.py::test_no_cell_is_cut_on_paper_where_no_script_runs": 6,
    "tests/snapshot/test_snapshot.py::test_every_sample_passes_its_own_snapshot": 9,
    "tests/snapshot/test_snapshot.py::test_a_change_is_told_from_what_to_what": 18,
    "tests/cli/test_bad_input.py::test_a_mistake_is_said_in_three_lines": 18,
    "tests/worker/test_sabotage.py::test_sabotage_is_the_models_failure": 3,
    "tests/training/script/test_waiting.py::"
    "test_an_end_that_python_does_not_see_has_its_status_and_a_report": 9,
    "tests/test_tree.py::test_a_session_that_leaves_a_file_fails": 4,
    "tests/test_layers.py::test_a_run_loads_no_torch_in_the_parent": 4,
    "tests/config/test_values_everywhere.py::test_an_unusual_value_is_read_or_refused": 6,
    "tests/distributed/test_hooks.py::test_what_a_hook_costs_and_gives": 6,
    # Each compiles a model several times.
    "tests/engine/test_compiled_layers.py::"
    "test_figures_are_those_of_the_model_without_the_compiler": 9,
    "tests/hooks/traced/test_traced_layers.py::"
    "test_norms_are_those_of_hooks_without_the_compiler": 9,
    "tests/training/compiled/test_compiled_modes.py::"
    "test_layers_have_the_figures_of_the_training_without_the_compiler": 6,
    "tests/engine/test_odd_models.py::test_fake_rows_equal_real_hooks_attached_by_hand": 6,
    "tests/engine/test_odd_models_gradients.py::test_gradients_are_those_of_plain_pytorch": 6,
    "tests/engine/test_odd_models_gradients.py::"
    "test_hooks_fire_in_the_same_order_under_fake_tensors": 60,
    "tests/faults/test_at_once.py::test_commands_at_once_write_whole_files": 12,
    "tests/faults/test_matrix.py::test_a_command_copes_with_what_it_inherits": 24,
    "tests/formats/test_hostile_time.py::test_a_long_name_is_drawn_in_every_format": 24,
    "tests/forked/test_forked.py::test_both_ways_give_the_same": 18,
    "tests/hooks/test_kinds.py::test_an_interruption_by_the_hook_itself_leaves_nothing_behind": 6,
    "tests/models/torchscript/test_architectures.py::test_an_architecture_traced": 18,
    "tests/models/torchscript/test_torch_nn.py::test_a_composition_is_as_in_python": 18,
    "tests/models/torchscript/test_torch_nn.py::test_a_module_of_torch_nn_is_as_in_python": 6,
    "tests/rules/test_steady.py::test_the_same_bytes_each_time": 6,
    "tests/training/script/test_ends.py::test_an_end_is_plain_pythons_and_has_a_report": 30,
    "tests/training/script/test_transparency.py::"
    "test_the_script_does_what_it_does_without_hookcli": 30,
    "tests/training/test_scripts.py::test_a_script_is_unchanged_and_its_report_is_true": 30,
    "tests/training/test_fail_open.py::test_a_fault_in_any_function_changes_nothing": 5,
    "tests/cli/watch/test_watch.py::test_a_run_is_a_fresh_run": 2,
    "tests/worker/test_harmless.py::test_a_hostile_model_that_runs_is_reported": 10,
    "tests/test_other_systems.py::test_a_worker_needs_nothing_of_linux": 3,
    "tests/training/script/test_interrupts.py::"
    "test_a_signal_at_any_moment_of_the_end_changes_nothing": 8,
    "tests/rules/test_steady.py::test_processes_with_as_many_threads_agree": 2,
    "tests/report/test_extremes.py::test_an_extreme_at_all_places_at_once_is_shown_or_refused": 45,
    "tests/faults/test_deep_graphs.py::test_a_deep_graph_is_freed_without_a_deep_stack": 2,
    # Pages in a browser.
    "tests/browser/test_pages.py::test_assistive_technology_can_read_each_panel_in_both_themes": 6,
    "tests/browser/test_pages.py::"
    "test_each_panel_of_each_page_is_shown_alone_in_wide_and_narrow_windows": 6,
    "tests/browser/test_labels.py::test_no_cell_is_cut_without_an_ellipsis_and_no_box_is_empty": 21,
    "tests/browser/test_labels.py::test_no_label_of_the_diagram_overlaps_or_is_cut_at_any_level": 5,
    "tests/browser/test_paper.py::test_what_is_printed_has_all_panels_to_their_ends": 3,
    "tests/cli/following/test_killed_and_followed.py::"
    "test_a_run_that_goes_on_is_followed_asked_and_not_started_twice": 2,
    "tests/browser/test_five_questions.py::test_where_is_the_first_nan": 2,
    "tests/outputs/test_sinks.py::test_no_name_is_a_command_in_the_report_of_a_training": 12,
    "tests/outputs/test_sinks.py::test_no_name_is_a_command_in_a_diff_of_trainings": 2,
    "tests/browser/test_pages.py::test_on_paper_all_panels_follow_each_other_without_controls": 3,
    "tests/rules/training/test_adversaries.py::"
    "test_a_generator_that_goes_with_its_discriminator_is_named": 3,
    "tests/test_torch_private.py::test_an_older_torch_is_refused_in_three_lines": 3,
    "tests/faults/test_environment.py::"
    "test_a_locale_without_unicode_gets_escapes_and_files_get_all": 2,
    "tests/faults/test_environment.py::test_no_variable_changes_what_a_command_does": 4,
    "tests/worker/test_ahead.py::test_a_request_that_cannot_be_leaves_no_process": 4,
    "tests/training/test_fail_open.py::test_an_observer_that_fails_is_left_out_alone": 3,
    "tests/training/script/test_end.py::test_the_report_tells_how_the_script_ended": 9,
    "tests/worker/test_breakpoint.py::test_commands_see_the_event_and_c_goes_on": 2,
    "tests/diagnosis/test_detection.py::test_the_first_sentence_names_the_fault": 6,
    "tests/comparison/test_command.py::test_a_failure_names_its_side": 9,
    "tests/formats/test_hostile_time.py::test_deep_trees_are_written_in_proportion": 3,
    "tests/inputs/test_infer.py::"
    "test_real_tensors_are_tried_where_the_model_mixes_fake_ones_with_its_own": 3,
    "tests/models/test_canaries.py::test_a_doctored_program_is_no_bug_of_ours": 2,
    "tests/cli/following/test_killed_and_followed.py::"
    "test_each_end_gives_the_status_of_plain_python_and_a_report": 3,
    "tests/worker/test_progress.py::test_nothing_is_shown_where_it_is_not_wanted": 3,
    "tests/worker/test_interpreter.py::test_a_bare_environment_gives_the_same_report": 2,
    "tests/rules/test_safe_set.py::test_no_sample_fails_with_the_defaults": 2,
    "tests/browser/test_layers.py::test_on_paper_are_the_first_500_open_rows": 2,
    "tests/cli/test_snapshot.py::test_archives_have_snapshots_too": 2,
    "tests/distributed/test_plans.py::test_a_right_plan_is_equal": 2,
    "tests/cli/test_list_and_explain.py::test_explain_prints_what_list_and_schema_print": 3,
    "tests/worker/test_hostile.py::test_a_sudden_end_in_forward_names_phase_layer_and_line": 3,
    "tests/engine/test_sketch.py::test_the_estimate_has_the_stated_error": 3,
    "tests/cli/test_output_suffix.py::test_a_suffix_means_the_same_in_every_command": 3,
    "tests/report/test_training_report.py::test_a_report_reads_as_it_was_written": 3,
    "tests/worker/test_signals.py::test_a_closed_stdout_ends_all_silently": 3,
    "tests/cli/test_hostile_files.py::test_odd_values_are_no_bug": 3,
    "tests/worker/test_signals.py::test_the_death_of_the_parent_is_the_death_of_all": 3,
    "tests/models/torchscript/test_files.py::"
    "test_layers_of_torch_tell_their_sizes_to_the_search_for_a_batch": 3,
    "tests/faults/test_ended.py::test_no_file_is_left": 3,
    "tests/models/test_canaries.py::test_a_command_runs_nothing_and_renders_nothing": 3,
    "tests/distributed/test_ddp.py::test_gradients_are_those_of_the_joined_batch": 3,
    "tests/cli/test_output_suffix.py::test_another_suffix_keeps_the_default_of_the_command": 3,
    "tests/hooks/traced/test_traced_layers.py::"
    "test_an_output_and_a_view_of_it_keep_their_gradients": 3,
    "tests/engine/test_written_constants.py::test_the_line_names_the_function": 3,
    "tests/comparison/test_faults.py::test_gradients_agree_where_the_models_do": 3,
    "tests/training/non_finite/test_save_step.py::test_what_repeats_a_step_is_told_as_it_is": 3,
    "tests/hooks/test_threads.py::test_backward_events_of_calls_on_threads_have_their_numbers": 3,
    "tests/faults/test_folders.py::"
    "test_files_with_permission_in_a_folder_without_it_are_overwritten": 3,
    "tests/faults/test_limits.py::test_open_files": 3,
    "tests/cli/test_batch_kept.py::"
    "test_what_a_backward_hook_forbids_is_no_fault_of_the_declared_batch": 3,
    "tests/models/test_exported.py::test_a_fake_run_says_what_the_real_one_does": 3,
    "tests/models/test_odd_archives.py::test_changed_bytes_give_an_error_or_the_right_model": 3,
    "tests/inputs/test_infer.py::test_sizes_that_are_found_by_probing": 3,
    "tests/training/test_rests.py::test_runs_that_watch_every_step": 3,
    "tests/engine/test_memory.py::test_a_what_if_is_what_training_takes": 3,
    "tests/distributed/test_faults.py::test_a_model_that_cannot_be_wrapped_is_refused": 3,
    "tests/comparison/test_faults.py::test_a_dropped_residual_is_found_across_dtypes": 3,
    "tests/distributed/test_hooks.py::test_what_this_torch_cannot_run_is_said_before_the_run": 3,
    "tests/engine/test_fake.py::test_positions_past_their_table_are_seen": 3,
    "tests/outputs/test_sinks.py::test_no_name_is_a_command_in_a_diff": 3,
    "tests/models/torchscript/test_files.py::test_a_command_shows_a_file_as_it_shows_the_model": 3,
    "tests/formats/test_memory.py::test_what_makes_a_run_measure_memory": 3,
    "tests/models/torchscript/test_files.py::"
    "test_a_traced_layer_has_no_constants_and_its_weights_tell_its_sizes": 3,
    "tests/cli/test_completion.py::test_what_a_shell_offers": 3,
    "tests/comparison/ports/test_ports.py::test_the_first_difference_has_the_names_of_both": 3,
    "tests/worker/test_breakpoint.py::test_leaving_the_debugger_ends_the_run": 3,
    "tests/models/test_lazy_compiler.py::test_functions_for_static_values_are_those_of_torch": 3,
}

# Tests that run at night only, each with what holds nearly the same on a push.
NIGHTLY: dict[str, str] = {
    "tests/training/test_signals.py::test_what_a_handler_raises_is_the_scripts": (
        "the other tests of its file"
    ),
    "tests/training/script/test_real_torch.py::test_a_training_is_the_same_and_has_a_report": (
        "tests/training/test_scripts.py, whose scripts are compared with plain Python too"
    ),
    "tests/rules/test_steady.py::test_the_hash_seed_of_the_command_changes_nothing": (
        "test_the_same_bytes_each_time of its file"
    ),
    "tests/test_other_systems.py::test_no_module_needs_posix_when_it_is_imported": (
        "test_every_module_is_imported_without_what_windows_lacks of its file"
    ),
    "tests/training/compiled/test_compiled_modes.py::"
    "test_without_a_batch_compiled_code_names_the_layer": (
        "test_the_layer_that_makes_nan_is_named_with_its_operator of its file"
    ),
    "tests/training/non_finite/test_save_step.py::"
    "test_the_command_of_the_report_repeats_the_step": (
        "tests/training/spikes/test_commands.py, which repeats the step of a spike"
    ),
    "tests/worker/test_breakpoint.py::test_the_time_at_the_prompt_does_not_count": (
        "the other tests of its file"
    ),
    "tests/cli/watch/test_watch.py::test_a_format_needs_a_file_unless_a_terminal_shows_it": (
        "the other tests of its file"
    ),
    "tests/report/test_extremes.py::test_the_documents_are_read_and_shown": (
        "test_a_mixture_of_extremes_is_shown_or_refused of its file"
    ),
    "tests/hooks/traced/test_traced_layers.py::test_places_are_limited": (
        "the other tests of its file"
    ),
    "tests/ci/test_precommit.py::test_it_runs_where_code_or_configuration_changed_and_not_else": (
        "the other tests of its file"
    ),
    "tests/models/test_exported_requests.py::"
    "test_a_container_of_a_class_that_is_not_here_keeps_its_names": ("the other tests of its file"),
    "tests/models/test_trusted_keys.py::test_the_command_refuses_a_kernel_of_the_hub": (
        "the other tests of its file"
    ),
    "tests/engine/test_gradients.py::test_a_transformers_gradients_are_those_of_plain_pytorch": (
        "tests/test_transformers.py, and test_a_samples_gradients_are_those_of_plain_pytorch"
    ),
    "tests/ci/test_action.py::test_inputs_become_flags": ("the other tests of its file"),
    "tests/test_layers.py::test_no_command_line_loads_torch_in_the_parent": (
        "test_a_run_loads_no_torch_in_the_parent of its file"
    ),
    "tests/training/non_finite/test_save_step.py::"
    "test_a_training_with_nan_is_the_same_with_hookcli": ("the other tests of its file"),
    "tests/rules/test_steady.py::test_sets_and_dicts_have_one_order_in_every_process": (
        "test_the_same_bytes_each_time of its file"
    ),
    "tests/report/test_extremes.py::test_a_number_is_read_if_and_only_if_it_is_in_its_range": (
        "the other tests of its file; `make nightly` runs tests.report.extremes"
    ),
    "tests/training/test_children.py::test_ranks_that_a_fork_server_forks_are_joined": (
        "the other tests of its file, and docs/guides/distributed.md"
    ),
    "tests/fuzz/test_fuzz.py::test_no_case_of_a_fixed_seed_fails": (
        "the other tests of its file; `make nightly` runs the fuzzer too"
    ),
    "tests/fuzz/test_fuzz.py::test_the_checks_find_what_a_command_must_not_do": (
        "the other tests of its file"
    ),
    "tests/fuzz/test_fuzz.py::"
    "test_every_target_has_its_share_and_a_number_gives_the_same_case_each_time": (
        "the other tests of its file"
    ),
    "tests/training/test_flat_ranks.py::"
    "test_a_flat_parameter_has_the_norm_of_all_that_it_consists_of": (
        "tests/training/test_joined_ranks.py, with FSDP2"
    ),
    "tests/training/test_flat_ranks.py::test_two_stages_of_a_rank_are_in_one_record": (
        "tests/training/test_joined_ranks.py, with FSDP2"
    ),
    "tests/training/test_flat_ranks.py::test_a_norm_that_begins_as_a_copy_is_no_expert": (
        "tests/training/test_joined_ranks.py, with FSDP2"
    ),
    "tests/training/test_flat_ranks.py::test_nobody_else_is_accused": (
        "tests/training/test_joined_ranks.py, with FSDP2"
    ),
    "tests/training/compiled/test_neutral_steps.py::"
    "test_a_difference_is_found_and_its_size_is_told": (
        "test_what_two_plain_runs_show of its file"
    ),
    "tests/worker/test_progress.py::test_probes_of_rules": "the other tests of its file",
    "tests/distributed/test_faults.py::"
    "test_a_rank_that_hangs_ends_with_all_others_at_the_timeout": ("the other tests of its file"),
    "tests/cli/test_snapshot.py::test_a_model_of_two_thousand_modules_has_a_readable_file": (
        "the other tests of its file"
    ),
    "tests/cli/watch/test_watch.py::test_a_missing_module_is_waited_for": (
        "the other tests of its file"
    ),
    "tests/cli/watch/test_watch.py::test_two_models_of_a_diff_are_watched": (
        "the other tests of its file"
    ),
    "tests/cli/watch/test_watch.py::test_findings_that_appear_and_go_are_told": (
        "test_a_line_tells_what_each_edit_changed of its file"
    ),
    "tests/cli/following/test_killed_and_followed.py::"
    "test_a_page_is_written_again_as_the_training_goes": ("the other tests of its file"),
    "tests/models/test_lazy_compiler.py::test_an_imported_compiler_stays": (
        "the other tests of its file"
    ),
    "tests/models/test_lazy_compiler.py::test_attributes_are_set_on_the_real_module": (
        "the other tests of its file"
    ),
    "tests/benchmarks/test_pieces.py::test_one_tool_on_one_sample": "the other tests of its file",
    "tests/cli/test_huge.py::test_405_billion_parameters_are_inspected_in_a_gigabyte": (
        "tests/engine/test_fake.py, with small models"
    ),
    "tests/distributed/test_ddp.py::test_a_thousand_buckets_are_reported_whole": (
        "the other tests of its file, with a few buckets"
    ),
    "tests/distributed/test_faults.py::test_two_runs_side_by_side_do_not_meet": (
        "tests/faults/test_at_once.py, whose commands have two ranks each"
    ),
    "tests/training/test_children.py::test_processes_of_a_script_have_reports": (
        "docs/guides/distributed.md, whose ranks are spawned"
    ),
    "tests/distributed/test_plans.py::test_the_python_api_judges_a_plan_of_a_model_by_name": (
        "test_check_judges_each_plan_by_itself of its file, on the command line"
    ),
    "tests/distributed/test_torchrun.py::test_rank_0_says_which_other_rank_failed": (
        "tests/distributed/test_faults.py, whose ranks hookcli starts"
    ),
    "tests/training/test_flat_ranks.py::test_parameters_of_fsdp1_have_the_figures_of_one_process": (
        "tests/training/test_joined_ranks.py, with FSDP2"
    ),
    "tests/rules/test_steady.py::test_the_findings_do_not_depend_on_threads_or_folder": (
        "the other tests of its file"
    ),
    "tests/cli/watch/test_watch.py::test_an_edit_during_a_run_begins_it_again": (
        "the other tests of its file"
    ),
    "tests/cli/watch/test_watch.py::test_a_debugger_cannot_be_watched": (
        "the other tests of its file"
    ),
    "tests/cli/following/test_killed_and_followed.py::"
    "test_a_finding_is_told_as_it_happens_and_given_to_a_command": ("the other tests of its file"),
    "tests/report/test_extremes.py::test_a_mixture_of_extremes_is_shown_or_refused": (
        "test_an_extreme_at_all_places_at_once_is_shown_or_refused of its file"
    ),
    "tests/distributed/test_torchrun.py::test_ranks_join_and_the_first_says_it_all": (
        "tests/training/test_joined_ranks.py, and docs/guides/distributed.md"
    ),
    "tests/worker/test_progress.py::test_phases_are_shown_in_order_and_nothing_of_them_is_left": (
        "the other tests of its file"
    ),
    "tests/rules/test_false_alarms.py::test_no_architecture_fails_with_the_defaults": (
        "test_no_sample_fails_with_the_defaults of tests/rules/test_safe_set.py"
    ),
    "tests/engine/test_compiled_layers.py::test_statistics_have_more": (
        "the other tests of its file"
    ),
    "tests/engine/test_compiled_layers.py::test_the_configuration_has_the_key": (
        "the other tests of its file"
    ),
    "tests/training/script/test_waiting.py::test_ctrl_c_has_the_status_that_python_gives": (
        "tests/training/script/test_interrupts.py, with signals at other moments"
    ),
    "tests/near/test_near.py::test_no_two_files_share_a_number": ("the other tests of its file"),
    "tests/ci/test_precommit.py::test_a_good_model_passes_and_a_bad_one_is_held_back": (
        "test_a_hook_s_entry_runs_as_pre_commit_would_run_it of its file"
    ),
    "tests/snapshot/test_architectures.py::test_an_architecture_passes_its_own_snapshot": (
        "tests/snapshot/test_snapshot.py, with the samples"
    ),
    "tests/comparison/test_faults.py::test_the_command_line_finds_it_too": (
        "the other tests of its file"
    ),
    "tests/docs/test_site.py::test_a_page_fetches_nothing_from_elsewhere": (
        "test_every_page_is_there of its file"
    ),
    "tests/models/test_libraries.py::test_a_compiled_operator_clips_a_gradient": _COMPILED,
    "tests/models/test_libraries.py::"
    "test_a_compiled_operator_sees_every_tensor_that_a_module_gives": _COMPILED,
    "tests/models/test_libraries.py::"
    "test_a_compiled_operator_changes_the_gradients_of_a_node": _COMPILED,
    "tests/models/test_libraries.py::"
    "test_two_libraries_of_one_namespace_are_refused_with_the_way_out": _COMPILED,
    "tests/models/test_libraries.py::"
    "test_a_fragment_stands_beside_its_library_and_either_may_be_named_twice": _COMPILED,
    "tests/models/test_libraries.py::test_an_operator_that_the_library_lacks_is_refused": _COMPILED,
    "tests/inputs/test_infer.py::test_most_of_the_zoo_is_found": (
        "the other tests of its file, with models of one input each"
    ),
    "tests/rules/test_false_alarms.py::test_every_sentence_about_the_zoo_was_reviewed": (
        "test_the_verdict_on_odd_models_is_true, with some of the models"
    ),
    "tests/worker/test_progress.py::test_ranks": "the other tests of its file, in one process",
    "tests/worker/test_progress.py::test_runs_without_hooks_are_told_from_the_one_with_them": (
        "the other tests of its file"
    ),
    "tests/engine/test_statistics.py::test_dtensor_is_the_whole": (
        "the tests of joined ranks, whose parameters are DTensors"
    ),
    "tests/training/test_frameworks.py::test_a_framework_gives_the_record_of_a_plain_loop": (
        "docs/guides/frameworks.md, which runs a script of each framework"
    ),
    "tests/training/test_scripts.py::test_a_script_that_starts_python_again_is_unchanged": (
        "docs/guides/distributed.md, whose ranks are spawned"
    ),
    "tests/training/test_scripts.py::test_two_ranks_are_unchanged_and_their_report_is_true": (
        "tests/training/test_joined_ranks.py and test_flat_ranks.py, with two ranks"
    ),
    "tests/training/test_resumed_scripts.py::"
    "test_what_was_lost_is_named_and_a_right_resume_is_the_same": (
        "tests/comparison/test_resumed.py, with reports instead of scripts"
    ),
    "tests/comparison/test_command.py::test_the_parent_loads_no_torch": (
        "tests/test_layers.py, for all commands"
    ),
    "tests/test_package.py::test_packages_have_what_they_need_and_nothing_else": (
        "the installation of the tests themselves"
    ),
    "tests/test_package.py::test_an_installed_package_runs_with_and_without_torch": (
        "tests/worker/test_interpreter.py, whose environments are made by hand"
    ),
    "tests/test_pytest_plugin.py::test_it_runs_with_xdist": "the other tests of its file",
    "tests/test_tiers.py::test_importing_the_files_of_pure_tests_imports_no_torch": (
        "tests/tiers.py, which watches each pure test while it runs"
    ),
}


def covering(cases: Sequence[Sequence[Hashable]], strength: int) -> list[int]:
    """Return the indices of cases that have each combination of `strength` values; of 0, one case.

    Cases have the same number of values. Combinations that no case has are not required. Of cases
    that add as many combinations, the one is taken whose values were taken least often, then the
    first: so a parameter of two values alternates.
    """
    width = len(cases[0]) if cases else 0
    places = [*itertools.combinations(range(width), min(strength, width))]
    of_case = [{(at, tuple(case[i] for i in at)) for at in places} for case in cases]
    missing = set().union(*of_case)
    taken: Counter[tuple[int, Hashable]] = Counter()
    chosen: list[int] = []

    def rank(index: int) -> tuple[int, int, int]:
        often = sum(taken[place, value] for place, value in enumerate(cases[index]))
        return -len(of_case[index] & missing), often, index

    while missing:
        best = min(set(range(len(cases))) - {*chosen}, key=rank)
        chosen.append(best)
        missing -= of_case[best]
        taken.update(enumerate(cases[best]))
    return sorted(chosen)


def _test(item: pytest.Item) -> str:
    """Return the name of a test without its case."""
    return item.nodeid.partition("[")[0]


def _values(item: pytest.Function) -> tuple[Hashable, ...]:
    """Return the value of each parameter: plain values as they are, others by their number."""
    callspec = item.callspec
    plain = str | int | float | bool | tuple | None
    return tuple(
        repr(value) if isinstance(value, plain) else ("number", callspec.indices[name])
        for name, value in sorted(callspec.params.items())
    )


def thin(items: Sequence[pytest.Item], products: dict[str, int]) -> list[pytest.Item]:
    """Return the items without the cases of products that no combination requires."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        test = _test(item)
        if test in products and hasattr(item, "callspec"):
            cases.setdefault(test, []).append(item)
    dropped = set()
    for test, ones in cases.items():
        kept = covering([_values(one) for one in ones], products[test])
        dropped |= {id(one) for one in ones} - {id(ones[index]) for index in kept}
    return [item for item in items if id(item) not in dropped]


def every(items: Sequence[pytest.Item], lists: dict[str, int]) -> list[pytest.Item]:
    """Return the items without those of lists that a push leaves out."""
    seen: Counter[str] = Counter()
    kept = []
    for item in items:
        test = _test(item)
        if test not in lists or seen[test] % lists[test] == 0:
            kept.append(item)
        seen[test] += 1
    return kept


class Push:
    """A plugin: leaves out what `--whole` adds, after `-k` and `-m` have selected."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Deselect cases of products, and tests of the night."""
        named = " ".join(config.args)
        thinned = thin(every(items, LISTS), PRODUCTS)
        kept = [one for one in thinned if _test(one) not in NIGHTLY or _test(one) in named]
        left = {id(one) for one in kept}
        config.hook.pytest_deselected(items=[one for one in items if id(one) not in left])
        items[:] = kept


def add_option(parser: pytest.Parser) -> None:
    """Add `--whole`."""
    text = "run all cases of large products, and the tests of the night (tests/products.py)"
    parser.addoption("--whole", action="store_true", help=text)
