"""`hookcli ask`: a training that runs observes further steps in detail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hookcli.cli.errors import reporting
from hookcli.cli.flags import completions
from hookcli.cli.flags.options import ConsoleFlags, OutputFlags, output_text
from hookcli.cli.flags.script_options import TrainingPreset
from hookcli.cli.flags.signatures import argument, changes, option
from hookcli.formats.registry import formats_of

EXAMPLES = (
    ("the next 3 steps of a training in detail", "hookcli ask run.json --steps 3"),
    ("the steps 5000 to 5010, as a page", "hookcli ask run.json --steps 5000-5010 -o asked.html"),
    ("every call of the next step, in order", "hookcli ask run.json --preset trace"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskFlags:
    """The run, and the steps."""

    run: str = argument(
        "The output of a run that goes on, as `hookcli run -o RUN.json` names it, or its journal.",
        metavar="RUN.json",
    )
    steps: str = option(
        "--steps",
        metavar="N|A-B",
        text="Steps to observe in detail: the next N, or those from A to B, counted from 0.",
        section="Run",
        unset="1",
    )
    preset: TrainingPreset | None = option(  # noqa: RUF009  # it is a field()
        "--preset",
        text="Hooks of these steps, beside those of the run: grads, trace or inspect.",
        section="Hooks",
        default=None,
    )
    kinds: str | None = option(
        "--kinds",
        metavar="K,K|all",
        text="Kinds of hooks to attach in these steps; `hookcli list hooks` lists them.",
        section="Hooks",
        complete=completions.kinds,
    )
    timeout: float = option(
        "--timeout",
        least=1,
        most=1e6,
        metavar="SECONDS",
        text="Time to wait for the last of these steps.",
        section="Run",
        unset=600.0,
    )


def ask(
    asked: AskFlags,
    output: Annotated[
        OutputFlags,
        changes("output", text=output_text(formats_of("run"))),
    ],
    messages: ConsoleFlags,
) -> int:
    """Observe further steps of a training that runs.

    They are shown when they have ended. Nothing else of the training changes. It looks for a
    question at the end of each step.
    """
    console = messages.console()

    def command() -> int:
        from hookcli.cli.following.ask_run import Question, ask_run

        question = Question(asked.steps, asked.preset, asked.kinds)
        return ask_run(asked.run, question, output, console, timeout=asked.timeout)

    return reporting(console, command)
