"""The parts of hookcli whose code is changed, each with the tests that must notice.

The tests are those of the part itself, not of everything that runs through it: a rule must be held
by tests of rules, not by the output of a command.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """Files or folders of hookcli, and of their tests."""

    code: tuple[str, ...]
    tests: tuple[str, ...]


PARTS = {
    "selectors": Part(
        ("hookcli/spec/selectors.py", "hookcli/hooks/resolve.py", "hookcli/config/sections/at.py"),
        ("tests/spec/test_selectors.py", "tests/config/test_at.py", "tests/hooks/test_resolve.py"),
    ),
    "statistics": Part(
        ("hookcli/engine/statistics", "hookcli/training/norms.py",
         "hookcli/formats/parts/color_scale.py", "hookcli/formats/tensorboard/histograms.py"),
        ("tests/engine/test_chunks.py", "tests/engine/test_statistics.py",
         "tests/engine/test_statistics_cache.py", "tests/engine/test_exact_statistics.py",
         "tests/engine/test_digest.py", "tests/engine/test_readable.py",
         "tests/engine/test_sketch.py", "tests/engine/test_without_numpy.py",
         "tests/formats/svg/test_color_scale.py", "tests/formats/test_tensorboard.py",
         "tests/formats/test_rebuilt_histograms.py",
         "tests/training/test_norms.py"),
    ),
    "archives": Part(
        ("hookcli/models/sources/content.py", "hookcli/models/sources/pickle_scan.py",
         "hookcli/models/sources/rebuilt_zip.py", "hookcli/models/sources/torch_files.py",
         "hookcli/models/sources/zip_members.py",
         "hookcli/models/files", "hookcli/models/exported/screening",
         "hookcli/models/exported/archive.py", "hookcli/plain_files.py"),
        ("tests/models/test_archive_members.py", "tests/models/test_pickle_scan.py",
         "tests/models/test_screening.py", "tests/models/test_content.py",
         "tests/models/test_exported_requests.py", "tests/models/test_hostile_files.py",
         "tests/models/test_file_checks.py",
         "tests/models/test_odd_archives.py", "tests/models/torchscript/test_files.py",
         "tests/models/test_package.py", "tests/models/test_sharded.py",
         "tests/models/test_trust.py", "tests/models/test_weights.py",
         "tests/faults/test_writers.py", "tests/test_plain_files.py"),
    ),
    "diff": Part(
        ("hookcli/comparison",),
        ("tests/comparison/test_against.py", "tests/comparison/test_align.py",
         "tests/comparison/test_tolerance.py", "tests/comparison/test_sentences.py",
         "tests/comparison/test_diff_rows.py",
         "tests/comparison/test_faults.py", "tests/comparison/test_gradients.py",
         "tests/comparison/test_locate.py",
         "tests/comparison/test_negative.py", "tests/comparison/test_reports.py",
         "tests/comparison/test_step_figures.py", "tests/comparison/test_step_rows.py",
         "tests/comparison/test_traces.py",
         "tests/comparison/test_training_records.py", "tests/comparison/test_trainings.py",
         "tests/comparison/test_watched_trainings.py"),
    ),
    "rules": Part(("hookcli/rules",), ("tests/rules",)),
}  # fmt: skip
