"""What each tool says of faulty and of healthy trainings.

    python -m benchmarks.comparison faults [--tools torchlens ...] [--trainings bf16 ...]

Each training of `trainings/` runs with each tool. A tool "names" a fault if one of its messages
says what is wrong, "hints" at it if a message is about the step, the parameter or the value that
is affected; the patterns in FAULTS decide. `n` is how many different messages it prints, those
about other things included. `--save FOLDER` keeps the texts.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.comparison.attached import TOOLS, Tool, run

TRAININGS = Path(__file__).parent / "trainings"


@dataclass(frozen=True, slots=True)
class Fault:
    """Patterns for the messages that say what is wrong, and for those that show a part of it."""

    named: str
    hinted: str


NEVER = "(?!)"
VARYING = re.compile(r" at step \d+, .*|(?<=step |norm )\d\S*|(?<=backward )\d+|\(\d+\.\d+\)")
FAULTS = {
    "no_zero_grad": Fault("zero_grad", "grad.*norm"),
    "frozen_part": Fault("frozen", "requires_grad_false"),
    "not_in_optimizer": Fault("no.optimizer|not in (the|any|an) optimizer", r"0\.weight|'0'"),
    "unreached_branch": Fault("sizes.*(no gradient|not reach|unused)|no.gradient.*sizes", "sizes"),
    "log_of_zero": Fault(r"\blog\b", r"nan|\binfs?\b|finite"),
    "learning_rate": Fault("lower the learning rate|learning rate of", "norm|nan|finite"),
    "left_in_eval": Fault("eval mode", NEVER),
    "weights_not_loaded": Fault("strict=False|not loaded|load_state_dict", NEVER),
    "bad_batch": Fault(r"input values range|'0:\.input|batch of step", "norm"),
}
HEALTHY = ("accumulation", "bf16", "gan", "lora")


def main(arguments: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.comparison faults")
    parser.add_argument("--tools", nargs="*", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--trainings", nargs="*", choices=[*FAULTS, *HEALTHY])
    parser.add_argument("--save", type=Path)
    options = parser.parse_args(arguments)
    tools = {name: TOOLS[name] for name in options.tools if TOOLS[name].version}
    for name in sorted(set(options.tools) - set(tools)):
        print(f"{name} is not installed")
    print("| training |", " | ".join(f"{name} {tool.version}" for name, tool in tools.items()), "|")
    print("|---|" + "---|" * len(tools))
    print("| lines added |", " | ".join(str(tool.lines) for tool in tools.values()), "|")
    for training in options.trainings or [*FAULTS, *HEALTHY]:
        texts = [_text(tool, training, options.save) for tool in tools.values()]
        cells = [
            judged(messages(tool, text), training)
            for tool, text in zip(tools.values(), texts, strict=True)
        ]
        print(f"| {training} | " + " | ".join(cells) + " |", flush=True)


def messages(tool: Tool, text: str) -> list[str]:
    """The different messages of a tool in what it printed, without steps and measured values."""
    found = (match[0] for match in re.finditer(tool.finding, text, re.MULTILINE))
    return sorted({VARYING.sub("", message) for message in found})


def judged(found: list[str], training: str) -> str:
    """A cell of the table."""
    if not found:
        return "–"
    if training in HEALTHY:
        return f"n={len(found)}"
    fault, joined = FAULTS[training], "\n".join(found)
    for word, pattern in (("names it", fault.named), ("hints", fault.hinted)):
        if re.search(pattern, joined, re.IGNORECASE):
            return f"{word}, n={len(found)}"
    return f"other, n={len(found)}"


def _text(tool: Tool, training: str, folder: Path | None) -> str:
    """What a tool prints of a training."""
    with tempfile.TemporaryDirectory() as place:
        text = run(tool, (TRAININGS / f"{training}.py").read_text(), Path(place))
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{training}.{tool.distribution}.txt").write_text(text)
    return text
