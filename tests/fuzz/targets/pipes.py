"""Named pipes that nobody writes or reads, in the place of files that a command reads or writes."""

from __future__ import annotations

from random import Random

from tests.fuzz.case import Case
from tests.fuzz.corpus import MODEL, reports
from tests.fuzz.targets.texts import FORMATS, RUNNING

_ENDINGS = ("", ".py", ".pt", ".pth", ".pt2", ".safetensors", ".npy", ".json", ".yaml", ".bin",
            ".pkl", ".ckpt", ".safetensors.index.json", ".gguf", ".onnx")  # fmt: skip


def pipes(rng: Random) -> Case:
    """A pipe as an input or an output: the command is refused, and does not wait for ever."""
    name = "pipe" + rng.choice(_ENDINGS)
    command = rng.choice(RUNNING)
    good = [command, "m.py", "-i", "2x4"]
    inputs = (
        [command, name], [command, f"{name}:Net"], [command, name, "-i", "2x4"],
        [command, "m.py", "-i", name], [command, "m.py", "-i", f"x={name}"],
        [*good, "--weights", name], [*good, "-c", name], [command, "-c", name],
        ["render", name], ["diff", name, "r.json"], ["diff", "r.json", name],
        ["check", "--against", name], ["check", "--against", "r.json", "--baseline", name],
        [*good, "--loss", "mse", "--target", name], [*good, "--loss", f"{name}:f"],
        [*good, "--python", name], ["snapshot", name], ["init", name], [command, "folder"],
    )  # fmt: skip
    outputs = (
        ["render", "r.json", "-f", rng.choice(FORMATS), "-o", name],
        ["render", "r.json", "-f", f"{rng.choice(FORMATS)}={name}"],
        ["check", "--against", "r.json", "--baseline", name, "--update-baseline"],
        ["trace", "m.py", "-i", "2x4", "--stream", name],
        ["snapshot", "m.py", "-i", "2x4", "-o", name, "--force"],
    )
    arguments = rng.choice(outputs if rng.random() < 0.1 else inputs)  # an output waits 10 seconds
    entries = ("pipe", name, ""), ("folder", "folder", ""), ("pipe", "folder/config.json", "")
    return Case(tuple(arguments), {"m.py": MODEL, "r.json": reports()[0]}, entries=entries)
