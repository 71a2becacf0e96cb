"""The options of `hookcli run`: the script, and what is observed of its training."""

# ruff: noqa: RUF009  # option() makes a field of a dataclass, as dataclasses.field() does

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from hookcli.cli.flags import completions
from hookcli.cli.flags.signatures import option
from hookcli.rules.verdict import FailOn
from hookcli.spec.training import DEFAULT_STEPS, CompiledMode, StopOn

FindingLevel: TypeAlias = Literal["error", "warning"]
TrainingPreset: TypeAlias = Literal["grads", "trace", "inspect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptFlags:
    """The script and the Python that runs it."""

    command: tuple[str, ...] = option(
        text="A Python script, a folder or a zip file with __main__.py, and its arguments.",
        metavar="SCRIPT [ARGS]...",
        unset=(),
    )
    module: str | None = option(
        "-m",
        metavar="MODULE",
        text="Run a module as `python -m MODULE` does; what follows are its arguments.",
        section="Run",
    )
    python: str | None = option(
        "--python",
        metavar="PATH",
        text="Python that runs the script: an interpreter, the folder of an environment, or a "
        "command. HOOKCLI_PYTHON sets it too.",
        section="Run",
        default="hookcli's own if it has torch, else $VIRTUAL_ENV, $CONDA_PREFIX or ./.venv",
    )
    eager: bool = option(
        "--eager",
        text="Disable torch.compile, so that the calls of all layers are seen.",
        section="Run",
        unset=False,
    )
    compiled: CompiledMode | None = option(
        "--compiled",
        text="What is observed inside code of torch.compile: norms of layers, written by hooks "
        "that the compiler traces; more statistics; or all hooks, in sampled steps that run "
        "without the compiler.",
        section="Run",
        default="gradients of parameters only",
    )
    verify_neutral: bool = option(
        "--verify-neutral",
        text="With --compiled: run the first 3 steps of the script twice before, without hooks in "
        "compiled code, and compare them.",
        section="Run",
        unset=False,
    )
    no_children: bool = option(
        "--no-children",
        text="Do not observe the processes that the script starts by multiprocessing.",
        section="Run",
        unset=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingFlags:
    """What is observed, and when the script ends."""

    config: str | None = option(
        "-c",
        "--config",
        metavar="FILE",
        text="Read hooks, checks and suppressions from FILE; flags override it.",
        section="Hooks",
    )
    steps: str = option(
        "--steps",
        metavar="SELECTION",
        text="Optimizer steps to observe in detail, counted from 0: numbers, ranges, every:N or "
        "all.",
        section="Hooks",
        unset=DEFAULT_STEPS,
    )
    preset: TrainingPreset | None = option(
        "--preset",
        text="Hooks at sampled steps: grads, norms of gradients; trace, every call; inspect, none.",
        section="Hooks",
        default="grads",
    )
    kinds: str | None = option(
        "--kinds",
        metavar="K,K|all",
        text="Kinds of hooks to attach; `hookcli list hooks` lists them.",
        section="Hooks",
        complete=completions.kinds,
    )
    root: tuple[str, ...] = option(
        "--root",
        metavar="GLOB",
        text="Observe only models whose name or type matches GLOB; repeatable.",
        section="Hooks",
        unset=(),
    )
    max_steps: int | None = option(
        "--max-steps",
        least=1,
        metavar="N",
        text="End the script with status 0 after N optimizer steps.",
        section="Run",
    )
    stop_on: StopOn | None = option(
        "--stop-on",
        text="End the script at the first loss or gradient that is not finite or, with spike, far "
        "above those of the steps before it, and save its batch; or at the first finding.",
        section="Run",
    )
    keep_batches: str | None = option(
        "--keep-batches",
        metavar="SIZE",
        text="Save the batch of the first step whose gradient norm or loss is a spike, and keep at "
        "most SIZE of batches until they are judged; 64MiB are kept without it.",
        section="Run",
    )
    fail_on: FailOn | None = option(
        "--fail-on",
        text="Exit with status 1 if there is a finding of this severity or above, and the script's "
        "own status is 0.",
        section="Checks",
        default="never",
    )
    notify: FindingLevel | None = option(
        "--notify",
        text="Print a line on stderr as soon as a rule finds something of this severity or above "
        "that later steps cannot undo; requires -o.",
        section="Checks",
    )
    on_finding: str | None = option(
        "--on-finding",
        metavar="COMMAND",
        text="Run COMMAND for each such finding, with the finding as JSON on its stdin; no shell, "
        "at most 60 s; requires -o.",
        section="Checks",
    )
    against: str | None = option(
        "--against",
        metavar="RUN.json",
        text="Compare the training with an earlier one, whose report is RUN.json (rule same_as).",
        section="Checks",
    )
    stream: str | None = option(
        "--stream",
        metavar="FILE",
        text="Write each event to FILE when it happens, as a line of JSON.",
        section="Output",
    )
