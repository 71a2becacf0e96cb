"""The request of `hookcli run`: a training script, and what is observed of its training."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from hookcli.errors import RequestError
from hookcli.spec.hooks import HookSpec
from hookcli.spec.request import Spec

StopOn: TypeAlias = Literal["nonfinite", "finding", "spike"]
CompiledMode: TypeAlias = Literal["layers", "statistics", "eager-samples"]
KEPT_BATCHES = 64 << 20  # bytes
DEFAULT_STEPS = "0-2,every:100"
_PART = re.compile(r"(?:(?P<first>\d{1,12})(?:-(?P<last>\d{1,12}))?|every:(?P<every>\d{1,12}))")


@dataclass(frozen=True, slots=True)
class StepSelection:
    """The steps that are observed in detail, counted from 0.

    `ranges` contains pairs of a first and a last step, both included; `every` contains periods. The
    last step is not known while a script runs: `hookcli run` adds it at the end where it can.
    """

    text: str
    ranges: tuple[tuple[int, int], ...] = ()
    every: tuple[int, ...] = ()

    def __contains__(self, step: object) -> bool:
        """Return whether a step is selected."""
        if not isinstance(step, int):
            return False
        for first, last in self.ranges:  # without generators: it is asked at each step
            if first <= step <= last:
                return True
        for period in self.every:  # noqa: SIM110  # as above
            if step % period == 0:
                return True
        return False


def parse_steps(text: str, place: str) -> StepSelection:
    """Return the selection that `0-2,every:100`, `7` or `all` names.

    Raises
    ------
    RequestError : a part is not a step, a range or `every:N`.
    """
    if text.strip() == "all":
        return StepSelection("all", every=(1,))
    ranges: list[tuple[int, int]] = []
    every: list[int] = []
    for part in text.split(","):
        found = _PART.fullmatch(part.strip())
        if found is None:
            raise _not_steps(f"'{part.strip()}' is not a step, a range or every:N", place)
        if found["every"] is not None:
            if int(found["every"]) == 0:
                raise _not_steps("every:N requires an N of at least 1, got 0", place)
            every.append(int(found["every"]))
            continue
        first = int(found["first"])
        last = first if found["last"] is None else int(found["last"])
        if last < first:
            raise _not_steps(f"the range {first}-{last} is empty", place)
        ranges.append((first, last))
    return StepSelection(text, tuple(ranges), tuple(every))


def _not_steps(message: str, place: str) -> RequestError:
    return RequestError(message, place=place, hint=f"use a selection such as `{DEFAULT_STEPS}`")


_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,6})?) ?(B|KB|KiB|MB|MiB|GB|GiB)?")
_UNITS = {
    "B": 1, "KB": 10**3, "KiB": 2**10, "MB": 10**6, "MiB": 2**20, "GB": 10**9, "GiB": 2**30,
}  # fmt: skip


def parse_kept_batches(text: str, place: str) -> int:
    """Return the bytes that `64MiB`, `1.5GB` or `0` names.

    Raises
    ------
    RequestError : it is not a size.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None or (found[2] is None and float(found[1])):
        raise RequestError(
            f"--keep-batches must be a size, got '{text}'",
            place=place,
            hint="use a number with a unit, such as `64MiB` or `1GB`; 0 keeps none",
        )
    return int(float(found[1]) * _UNITS[found[2] or "B"])


@dataclass(frozen=True, slots=True)
class ScriptSpec:
    """The script and its arguments. `name` is a path as typed, or a module if `is_module`.

    `source` is what a pipe or a device contained, which can be read only once.
    """

    name: str
    arguments: tuple[str, ...] = ()
    is_module: bool = False
    source: bytes | None = None


@dataclass(frozen=True, slots=True)
class TrainingSpec:
    """What is observed of a training.

    `steps` are observed in detail. The script ends after `max_steps` optimizer steps. With
    `stop_on` it ends at the first value that is not finite, at the first finding of a rule, or
    before the first step whose gradient norm or loss is a spike.
    `roots` are globs of names or types of the roots to observe; empty means all. With `eager`,
    torch.compile does nothing. With `children`, processes that the script starts by multiprocessing
    are observed too. `compiled` tells how layers inside of compiled code are observed: by hooks
    that the compiler traces, or in sampled steps that run without the compiler; None: not at all.
    `keep_batches` is how many bytes of batches are kept of steps that are not judged yet.
    """

    steps: StepSelection
    max_steps: int | None = None
    stop_on: StopOn | None = None
    roots: tuple[str, ...] = ()
    eager: bool = False
    children: bool = True
    compiled: CompiledMode | None = None
    keep_batches: int = KEPT_BATCHES


@dataclass(frozen=True, slots=True)
class JournalPlace:
    """The journal of a run.

    It has an absolute path, a descriptor in the script's process, and the first of its entries,
    which is written. `presets` are the hooks that somebody may ask for by the name of a preset.
    """

    path: str
    handle: int
    header: bytes
    presets: Mapping[str, tuple[HookSpec, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunJob:
    """The whole task of the process that runs the script.

    `spec` has the hooks, the checks and the preset, as its command; its model is the script.
    `batch` is the path of the file for the batch of a step that is not finite, or that is a spike;
    None if it is not saved. If it is `timed`, the report has the times of the steps; two runs of a
    script then give different reports. `child_of` names the process that has started this one, if
    the script did. `journal` is where the record is written as the training goes; None if it is
    not. `started_by` is the process that has started the command, such as torchrun.
    """

    script: ScriptSpec
    training: TrainingSpec
    spec: Spec
    batch: str | None = None
    verbose: bool = False
    timed: bool = False
    child_of: str | None = None
    journal: JournalPlace | None = None
    started_by: int | None = None
