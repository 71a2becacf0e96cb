"""Compares the estimate of training memory with the measured peak of resident memory.

`python -m benchmarks.training_memory --write docs/measurements/training-memory.md`
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from tabulate import tabulate

HERE = Path(__file__).parent
CASES = [
    ("GPT-2", "gpt2.py", "2x256:int64:0..50257"),
    ("GPT-2", "gpt2.py", "8x256:int64:0..50257"),
    ("ResNet-50's shape", "resnet50.py", "4x3x224x224"),
    ("ResNet-50's shape", "resnet50.py", "16x3x224x224"),
    ("ViT", "vit.py", "4x3x224x224"),
]
OPTIMIZERS = {"sgd": "SGD", "adam": "Adam"}
TRAIN = """
import importlib.util, resource, sys, torch
spec = importlib.util.spec_from_file_location("model", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from hookcli.spec.inputs import parse_inputs
from hookcli.inputs.materialise import make_tensor
(one,) = parse_inputs((sys.argv[2],))
batch = make_tensor(one.spec, torch.float32, "cpu")
torch.nn.functional.conv2d(torch.randn(1, 3, 8, 8), torch.randn(3, 3, 3, 3)).sum()  # libraries
before = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
model = module.build_model().train()
optimizer = getattr(torch.optim, sys.argv[3])(model.parameters(), lr=1e-4)
for _ in range(3):
    optimizer.zero_grad()
    output = model(batch)
    loss = output[0] if isinstance(output, (tuple, dict)) else output
    loss.float().mean().backward()
    del output, loss
    optimizer.step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before)
"""


def measured(model: str, batch: str, optimizer: str) -> int:
    """Return the peak of resident memory of three steps, in bytes, minus that of the imports."""
    command = [sys.executable, "-c", TRAIN, str(HERE / "models" / model), batch, optimizer]
    environment = {"MALLOC_ARENA_MAX": "1", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return int(done.stdout.split()[-1])


def estimated(model: str, batch: str) -> dict[str, int]:
    """Return the estimates of `hookcli inspect` in bytes, by optimizer."""
    command = [
        sys.executable, "-m", "hookcli", "inspect", str(HERE / "models" / model),
        "-i", batch, "--mode", "train", "-f", "json",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)["measurements"]
    return {r["target"]: r["value"] for r in rows if r["probe"] == "training_memory_estimate"}


def table() -> str:
    """Return the table, with a row for each case and optimizer."""
    rows = []
    for name, model, batch in CASES:
        estimates = estimated(model, batch)
        for key, optimizer in OPTIMIZERS.items():
            peak = measured(model, batch, optimizer)
            estimate = estimates[key]
            rows.append([name, batch, optimizer, estimate / 1e9, peak / 1e9, estimate / peak])
    heads = ["model", "batch", "optimizer", "estimate, GB", "measured, GB", "estimate / measured"]
    return tabulate(rows, heads, "github", floatfmt=("", "", "", ".2f", ".2f", ".2f"))


TEXT = """\
# Training memory: estimated and measured

`hookcli inspect` estimates the memory of a training step as the sum of:

- the parameters and buffers;
- the tensors that autograd saves for backward, read from the graph of the forward that ran, with
  each distinct storage counted once;
- a gradient for each trainable parameter;
- the optimizer's states: none for SGD, one tensor per parameter for SGD with momentum, two for
  Adam.

The estimate counts all of them as if they existed at the same time, in the dtype of the run
(`--dtype`) and in its mode (`--mode train` includes what dropout and batch norm save). It does not
include the gradients of activations, which exist only for a short time in backward, the workspaces
of operators, or the overhead of the allocator.

`python -m benchmarks.training_memory --write docs/measurements/training-memory.md` trains for three
steps on the CPU and measures the peak of resident memory, minus the memory after the imports:

{table}
"""


def main() -> None:
    """Print the table, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    text = TEXT.format(table=table())
    if arguments.write:
        arguments.write.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
