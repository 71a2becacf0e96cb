"""`hookcli run`: somebody's training script under hooks, without editing it."""

from __future__ import annotations

from typing import Annotated, Any

from hookcli.cli.errors import reporting
from hookcli.cli.flags.options import ConsoleFlags, OutputFlags, output_text
from hookcli.cli.flags.script_options import ScriptFlags, TrainingFlags
from hookcli.cli.flags.signatures import changes
from hookcli.cli.help.layout import SectionedCommand
from hookcli.formats.registry import formats_of

EXAMPLES = (
    ("gradient norms and the first NaN of a training", "hookcli run train.py --epochs 3"),
    (
        "the first 3 steps and every 100th in detail, as JSON",
        "hookcli run --steps 0-2,every:100 -o run.json train.py",
    ),
    ("a module, as with python -m", "hookcli run -m package.train --config cfg.yaml"),
    (
        "for CI: 20 steps, and status 1 if a rule fails",
        "hookcli run --max-steps 20 --fail-on error train.py",
    ),
)


class ScriptCommand(SectionedCommand):
    """A command whose arguments are the script's own from SCRIPT or `-m MODULE` on."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options before the script."""
        ctx.allow_interspersed_args = False
        rest: list[str] = super().parse_args(ctx, self._fenced(ctx, args))
        return rest

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return options that begin so, or nothing after the script, whose options are unknown."""
        if ctx.params.get("command") or ctx.params.get("module"):
            return []
        return list(super().shell_complete(ctx, incomplete))

    def _fenced(self, ctx: Any, args: list[str]) -> list[str]:
        """Return the arguments with `--` after `-m MODULE`, where the script's own begin."""
        takes = {
            name: not getattr(parameter, "is_flag", False)
            for parameter in self.get_params(ctx)
            if parameter.param_type_name == "option"
            for name in (*parameter.opts, *parameter.secondary_opts)
        }
        i = 0
        while i < len(args) and args[i].startswith("-") and args[i] not in {"-", "--"}:
            name, after = _option(args[i], takes)
            i += 1 if after else 2
            if name == "-m":
                return [*args[:i], "--", *args[i:]]
        return args


def _option(word: str, takes: dict[str, bool]) -> tuple[str, bool]:
    """Return the last option of a word, and whether the word has its value or it takes none."""
    if word.startswith("--"):
        name, equals, _ = word.partition("=")
        return name, bool(equals) or not takes.get(name, False)
    for i, letter in enumerate(word[1:], 1):
        if takes.get(f"-{letter}", False):
            return f"-{letter}", i + 1 < len(word)
    return word, True


COMMAND_CLASS = ScriptCommand


def run(
    script: ScriptFlags,
    training: TrainingFlags,
    output: Annotated[
        OutputFlags,
        changes("output", text=output_text(formats_of("run"), default="json")),
    ],
    messages: ConsoleFlags,
) -> int:
    """Run a training script under hooks, without editing it.

    Everything from SCRIPT on belongs to the script. Its output, its exit status and the losses are
    those of `python SCRIPT`. A summary is printed on stderr at the end, unless -f prints on stdout.
    """
    console = messages.console()

    def command() -> int:
        from hookcli.cli.training.launch import launch
        from hookcli.cli.training.script_request import training_request

        return launch(training_request(script, training, output=output, console=console))

    return reporting(console, command)
