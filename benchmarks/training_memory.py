"""Compares the memory of training that hookcli gives with the peak that the profiler measures.

`python -m benchmarks.training_memory --write docs/measurements/training-memory.md`
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tabulate import tabulate

HERE = Path(__file__).parent
NAMES = (
    "BERT", "GPT-2", "T5", "Llama", "Mixtral", "ViT", "ResNet-18", "ConvNeXt", "CLIP", "Wav2Vec2",
    "nn.Transformer", "nn.LSTM", "U-Net",
)  # fmt: skip
# What to train with: the optimizer, its arguments, samples, dtype of autocast.
CASES = {
    "optimizer=adam": ("Adam", {}, 2, None),
    "batch=6,optimizer=sgd,momentum=0.9": ("SGD", {"momentum": 0.9}, 6, None),
    "autocast=bfloat16,optimizer=adamw": ("AdamW", {}, 2, "bfloat16"),
}
# Plain PyTorch, in a process of its own. The profiler reports each allocation and release of the
# CPU's allocator, and those inside operators too.
TRAIN = """
import gc, json, sys, torch
from torch.profiler import ProfilerActivity, profile
from torch.utils._pytree import tree_map
from benchmarks.memory_models import build_model
name, cases = json.loads(sys.argv[1])

def train(optimizer, arguments, samples, autocast):
    def larger(value):
        if not isinstance(value, torch.Tensor):
            return value
        return value[torch.arange(samples) % value.shape[0]]

    model = build_model(name).train()
    batch = tree_map(larger, model.example_inputs())
    args, kwargs = ((), batch) if isinstance(batch, dict) else (batch, {})
    made = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-4, **arguments)
    for _ in range(2):
        made.zero_grad()
        with torch.profiler.record_function("step"):
            with torch.autocast("cpu", torch.bfloat16, enabled=autocast is not None):
                loss = model(*args, **kwargs)["loss"]
            loss.backward()
            del loss
            made.step()

def peak_of(case):
    gc.collect()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        train(*case)
    events = sorted(seen.profiler.kineto_results.events(), key=lambda event: event.start_ns())
    start = min(event.start_ns() for event in events if event.name() == "step")
    now = peak = 0
    for event in events:
        if event.name() == "[memory]":
            now += event.nbytes()
            if event.start_ns() >= start:
                peak = max(peak, now)
    return peak

torch.manual_seed(0)
train(*cases[0])  # libraries keep buffers of their own after the first use
print(json.dumps([peak_of(case) for case in cases]))
"""


def measured(name: str) -> list[int]:
    """Return the highest number of bytes that two steps of training had allocated, by case."""
    what = json.dumps([name, list(CASES.values())])
    done = subprocess.run(
        [sys.executable, "-c", TRAIN, what], capture_output=True, text=True, check=True
    )
    peaks: list[int] = json.loads(done.stdout.splitlines()[-1])
    return peaks


def predicted(name: str) -> tuple[str, dict[str, int]]:
    """Return the kind of tensors of the run, and hookcli's totals by what-if."""
    command = [
        sys.executable, "-m", "hookcli", "inspect", f"{HERE / 'memory_models.py'}:build_model",
        "--arg", f"name={name}", "-f", "json",
        *(part for text in CASES for part in ("--what-if", text)),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    return report["run"]["tensors"], {
        row["what_if"]: row["total_bytes"] for row in report["memory"]["training"]
    }


def rows_of(name: str) -> list[list[object]]:
    """Return a row for each case of a model."""
    tensors, totals = predicted(name)
    rows = []
    for text, peak in zip(CASES, measured(name), strict=True):
        total = totals[text]
        rows.append([name, text, tensors, total / 1e6, peak / 1e6, total / peak])
        print(*rows[-1], file=sys.stderr, flush=True)
    return rows


def page() -> str:
    """Return the page with the table and its summary."""
    with ThreadPoolExecutor(2) as pool:
        rows = [row for rows in pool.map(rows_of, NAMES) for row in rows]
    heads = ["model", "`--what-if`", "tensors", "hookcli, MB", "measured, MB", "ratio"]
    errors = [abs(row[-1] - 1) for row in rows]
    worst = max(rows, key=lambda row: abs(row[-1] - 1))
    summary = (
        f"{len(NAMES)} models, {len(rows)} cases: the median error is "
        f"{statistics.median(errors):.1%}, {sum(e < 0.01 for e in errors)} cases are within 1 % "
        f"and {sum(e < 0.05 for e in errors)} within 5 %. The worst is {worst[0]} with "
        f"`{worst[1]}`: hookcli gives {worst[-1]:.2f} of what was measured."
    )
    table = tabulate(rows, heads, "github", floatfmt=("", "", "", ".1f", ".1f", ".3f"))
    return TEXT.format(summary=summary, table=table)


TEXT = """\
# Training memory: predicted and measured

`hookcli inspect --memory` follows the storages that operators make through forward, loss and
backward, and runs the first step of the optimizer with fake tensors.
[How much memory does training need?](../recipes/training-memory.md) defines each figure.

The measurement is plain PyTorch on the CPU: two steps of training (`zero_grad`, forward, backward,
`step`) under `torch.profiler` with `profile_memory=True`, which reports each allocation and release
of the allocator, those inside operators included. The figure is the highest sum of all of them:
parameters, buffers, batch, gradients, states of the optimizer, activations and temporaries. The
models are in `benchmarks/memory_models.py`; their batch has 2 samples. hookcli runs each model
once, with this batch, and gives all three rows of the model.

{summary}

{table}

Where hookcli gives less, an operator allocates memory that is not in its results and frees it
before it returns, or a library (oneDNN) keeps some: convolutions, and recurrent layers on the CPU.
No operator of PyTorch shows that to a program that runs it. On a GPU, add the context of CUDA (some
hundred MB), the workspaces of cuBLAS and cuDNN, and what the caching allocator rounds up.

`python -m benchmarks.training_memory --write docs/measurements/training-memory.md` writes this
page.
"""


def main() -> None:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    text = page()
    if arguments.write:
        arguments.write.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
