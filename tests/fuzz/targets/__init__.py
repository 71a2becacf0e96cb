"""The targets: what a case makes hostile. Each is a function of a generator that returns a Case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from tests.fuzz.case import Case, generator
from tests.fuzz.targets import (
    archives,
    completions,
    documents,
    library_folders,
    numbers,
    outputs,
    pipes,
    scalars,
    scripts,
    shadows,
    sources,
    texts,
    trees,
    weights,
)


@dataclass(frozen=True, slots=True)
class Target:
    """A target, and its share of all cases."""

    name: str
    make: Callable[[Random], Case]
    share: int


TARGETS = (
    Target("configuration", texts.configuration, 15),
    Target("snapshot", texts.snapshot, 5),
    Target("values", texts.values, 12),
    Target("command line", texts.command_line, 10),
    Target("report", documents.report, 14),
    Target("training report", documents.training, 7),
    Target("diff document", documents.diff, 2),
    Target("baseline", documents.baseline, 4),
    Target("TorchScript", archives.torchscript, 5),
    Target("exported program", archives.exported, 5),
    Target("torch.package", archives.package, 4),
    Target("pickle", archives.pickled, 8),
    Target("tensor file", archives.tensor_file, 6),
    Target("output files", outputs.outputs, 5),
    Target("model source", sources.source, 8),
    Target("names beside a model", shadows.shadows, 2),
    Target("training script", scripts.script, 0),  # only with --target: it takes several seconds
    Target("ranks", sources.ranks, 0),  # the same
    Target("module tree", trees.tree, 3),
    Target("extreme numbers", numbers.numbers, 10),
    Target("YAML scalars", scalars.scalars, 6),
    Target("expressions", archives.expressions, 2),
    Target("completion", completions.completions, 3),
    Target("named pipes", pipes.pipes, 1),
    Target("weights", weights.weights, 8),
    Target("library folders", library_folders.library_folders, 1),
)


def case(seed: int, number: int, only: str | None = None) -> tuple[Target, Case]:
    """The target of a case, and the case; with `only`, of that target."""
    rng = generator(seed, number)
    [target] = rng.choices(TARGETS, [one.share for one in TARGETS])
    if only is not None:
        target = next(one for one in TARGETS if one.name == only)
    ahead = rng.random() < 0.1
    return target, replace(target.make(rng), ahead=ahead)
