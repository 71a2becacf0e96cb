"""`hookcli` compared with scripts that call similar tools, and with plain PyTorch."""

from __future__ import annotations

import sys

from benchmarks.section import Figure, Section, Table, ratio, seconds
from benchmarks.timing import HOOKCLI, Command, Run, alternate, medians

LARGE = {"gpt2": "GPT-2", "vit": "ViT base", "resnet50": "ResNet-50"}  # above 20 million parameters
SMALL = {
    "mlp": "perceptron",
    "lenet": "LeNet-5",
    "resnet18": "ResNet-18",
    "lstm": "LSTM",
    "mobilenet": "MobileNet",
}
COMMAND, ENGINE = "`hookcli inspect`", "hookcli in one process"
TORCHINFO, TORCHLENS = "torchinfo script", "torchlens script"
FAKE, REAL, IMPORTS = "plain PyTorch, fake tensors", "plain PyTorch", "imports alone"
BACKWARD = "plain PyTorch, with backward"
HOW = """\
Every script imports its packages, builds the model with its default config, asks the tool for a
table of all layers with shapes, parameters and mult-adds, and prints it. *Whole process* is the
time that a user waits. *After imports* is the time that a script measures after its imports. For
`hookcli inspect`, which works in two processes, it is the whole process minus *imports alone*: a
process that imports only torch and the model's file. *Plain PyTorch* does those imports, builds the
model, with fake tensors or with real ones, and calls it once without hooks. *hookcli in one
process* does the work of `hookcli inspect` after everything is imported. hookcli counts FLOPs in
all of them.
"""
RUNNING = ("grads", "trace", "check")  # `check` runs several passes: it has no limit
COMMANDS_HOW = """\
Whole processes, compared with a script that imports torch, builds the same model, calls it and runs
backward once, without hooks and without output."""


def script(model: str, name: str, *words: str) -> Command:
    return Command(name, (sys.executable, "-m", *words, model))


def commands(model: str) -> tuple[Command, ...]:
    compared = (
        Command(COMMAND, (HOOKCLI, "inspect", f"benchmarks/models/{model}.py")),
        script(model, TORCHINFO, "benchmarks.peers.with_torchinfo"),
        script(model, FAKE, "benchmarks.peers.bare", "fake"),
        script(model, REAL, "benchmarks.peers.bare", "real"),
        script(model, IMPORTS, "benchmarks.peers.bare", "imports"),
    )
    if model in SMALL:
        return compared
    return (
        *compared,
        script(model, ENGINE, "benchmarks.peers.with_hookcli"),
        script(model, TORCHLENS, "benchmarks.peers.with_torchlens"),
    )


def own(name: str, found: dict[str, Run]) -> float | None:
    """Return the seconds after the imports."""
    if name == COMMAND:
        return found[COMMAND].wall - found[IMPORTS].wall
    return None if name == IMPORTS else found[name].own


def table(title: str, found: dict[str, Run]) -> Table:
    peer = found[TORCHINFO]
    rows = []
    for name, one in found.items():
        past = own(name, found)
        shares = ("–", "–") if past is None else (seconds(past), ratio(past, peer.own))
        wall = (seconds(one.wall), ratio(one.wall, peer.wall))
        rows.append((name, *wall, seconds(one.processor), *shares))
    header = ("", "whole process, s", "relative to torchinfo", "processor, s", "after imports, s",
              "relative to torchinfo")  # fmt: skip
    return Table(header, tuple(rows), title)


def measure(rounds: int) -> Section:
    tables, figures = [], []
    for model, title in {**LARGE, **SMALL}.items():
        runs = alternate(commands(model), rounds)
        found = {name: medians(some) for name, some in runs.items()}
        tables.append(table(title, found))
        whole, peer = found[COMMAND].wall, found[TORCHINFO]
        limit = 0.75 if model in LARGE else 0.9
        figures.append(
            Figure(f"{title}: relative to the torchinfo script", whole / peer.wall, limit)
        )
        if model == "gpt2":
            past = own(COMMAND, found) / peer.own
            figures.append(Figure(f"{title}: after imports, relative to torchinfo", past, 0.35))
        plain = min(found[FAKE].wall, found[REAL].wall)
        name = f"{title}: relative to plain PyTorch, fake or real"
        figures.append(Figure(name, whole / plain, 1.25))
    return Section("Inspecting a model", HOW, tuple(tables), tuple(figures))


def measure_commands(rounds: int) -> Section:
    """Measure the commands that run backward."""
    rows, figures = [], []
    for model, title in {
        "resnet50": "ResNet-50",
        "resnet18": "ResNet-18",
        "mlp": "perceptron",
    }.items():
        file = f"benchmarks/models/{model}.py"
        compared = (
            script(model, BACKWARD, "benchmarks.peers.bare", "backward"),
            *(Command(f"`hookcli {one}`", (HOOKCLI, one, file)) for one in RUNNING),
        )
        found = {name: medians(runs) for name, runs in alternate(compared, rounds).items()}
        bare = found[BACKWARD].wall
        for name, one in found.items():
            rows.append((f"{title}: {name}", seconds(one.wall), ratio(one.wall, bare)))
            if name in {"`hookcli grads`", "`hookcli trace`"}:
                figures.append(
                    Figure(
                        f"{title}: {name}, relative to forward and backward", one.wall / bare, 1.25
                    )
                )
    header = ("", "whole process, s", "relative to plain PyTorch")
    return Section("Commands", COMMANDS_HOW, (Table(header, tuple(rows)),), tuple(figures))
