"""The estimate of training memory against what training takes: peak resident memory, measured.

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
    """Bytes of resident memory that three steps take at most, over the imports."""
    command = [sys.executable, "-c", TRAIN, str(HERE / "models" / model), batch, optimizer]
    environment = {"MALLOC_ARENA_MAX": "1", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return int(done.stdout.split()[-1])


def estimated(model: str, batch: str) -> dict[str, int]:
    """What `hookcli inspect` says, by optimizer."""
    command = [
        sys.executable, "-m", "hookcli", "inspect", str(HERE / "models" / model),
        "-i", batch, "--mode", "train", "-f", "json",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)["measurements"]
    return {r["target"]: r["value"] for r in rows if r["probe"] == "training_memory_estimate"}


def table() -> str:
    """A row for each case and optimizer."""
    rows = []
    for name, model, batch in CASES:
        said = estimated(model, batch)
        for key, optimizer in OPTIMIZERS.items():
            took = measured(model, batch, optimizer)
            rows.append([name, batch, optimizer, said[key] / 1e9, took / 1e9, said[key] / took])
    heads = ["model", "batch", "optimizer", "estimate, GB", "measured, GB", "estimate / measured"]
    return tabulate(rows, heads, "github", floatfmt=("", "", "", ".2f", ".2f", ".2f"))


TEXT = """\
# How much memory training takes: the estimate, and what was measured

`hookcli inspect` adds up what a training step holds: parameters and buffers, what autograd keeps
for backward (each distinct storage once, read from the graph of the forward that ran), a gradient
for each trainable parameter, and the optimizer's states (none for SGD, one tensor a parameter with
momentum, two for Adam). All of it is counted as if it were there at once, in the dtype in which
the model was run (`--dtype`) and in its mode (`--mode train` keeps what dropout and batch norm
keep). The gradients of activations that live for a moment in backward, operators' workspaces and
the allocator's waste are not in it. It is an estimate, and called one.

`python -m benchmarks.training_memory --write docs/measurements/training-memory.md` trains for three
steps on the CPU, and reads the peak of resident memory over that of the imports:

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
