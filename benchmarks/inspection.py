"""`hookcli inspect` compared with scripts that call similar tools, and with plain PyTorch."""

from __future__ import annotations

import sys

from benchmarks.section import Figure, Section, Table, ratio, seconds
from benchmarks.timing import HOOKCLI, Command, Run, alternate, medians

MODELS = {"gpt2": "GPT-2", "vit": "ViT base", "resnet50": "ResNet-50"}
COMMAND, ENGINE = "`hookcli inspect`", "hookcli in one process"
TORCHINFO, TORCHLENS = "torchinfo script", "torchlens script"
FLOOR, IMPORTS = "plain PyTorch", "imports alone"
HOW = """\
Every script imports its packages, builds the model with its default config, asks the tool for a
table of all layers with shapes, parameters and mult-adds, and prints it. *Whole process* is the
time that a user waits. *After imports* is the time that a script measures after its imports. For
`hookcli inspect`, which works in two processes, it is the whole process minus *imports alone*: a
process that imports only torch and the model's file. *Plain PyTorch* does those imports, builds the
model with fake tensors and calls it once without hooks. *hookcli in one process* does the work of
`hookcli inspect` after everything is imported. hookcli counts FLOPs in all of them."""


def commands(model: str) -> tuple[Command, ...]:
    def script(name: str, *words: str) -> Command:
        return Command(name, (sys.executable, "-m", *words, model))

    return (
        Command(COMMAND, (HOOKCLI, "inspect", f"benchmarks/models/{model}.py")),
        script(TORCHINFO, "benchmarks.peers.with_torchinfo"),
        script(FLOOR, "benchmarks.peers.bare", "floor"),
        script(IMPORTS, "benchmarks.peers.bare", "imports"),
        script(ENGINE, "benchmarks.peers.with_hookcli"),
        script(TORCHLENS, "benchmarks.peers.with_torchlens"),
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
    for model, title in MODELS.items():
        runs = alternate(commands(model), rounds)
        found = {name: medians(some) for name, some in runs.items()}
        tables.append(table(title, found))
        whole, peer = found[COMMAND].wall, found[TORCHINFO]
        if model == "gpt2":
            past = own(COMMAND, found) / peer.own
            figures += [
                Figure(
                    f"{title}: whole process, relative to the torchinfo script",
                    whole / peer.wall,
                    0.75,
                ),
                Figure(f"{title}: after imports, relative to torchinfo", past, 0.35),
            ]
        floor = whole / found[FLOOR].wall
        figures.append(Figure(f"{title}: whole process, relative to plain PyTorch", floor, 1.25))
    return Section("Inspecting a model", HOW, tuple(tables), tuple(figures))
