"""`python -m benchmarks.digests_cost`: what the digests of a rank's parameters add to a step.

The small GPT and the ResNet-20 of the benchmarks, in one thread. The processor time of a step, and
of the two digests of it, in turns; medians.
"""

from __future__ import annotations

import time
from statistics import median

import torch
from torch.nn import functional

from benchmarks.peers.training import Gpt, cnn
from hookcli.training.parallel.step_digests import DigestKeeper

STEPS = 40


def batches(kind: str):
    """Return a model and its batch, as in the benchmark of `hookcli run`."""
    torch.manual_seed(0)
    if kind == "gpt":
        return Gpt(), torch.randint(256, (4, 128)), torch.randint(256, (4, 128))
    return cnn(), torch.randn(8, 3, 32, 32), torch.randint(10, (8,))


def ratio(kind: str) -> tuple[float, float]:
    """Return seconds of a step, and the time with digests relative to it."""
    model, x, y = batches(kind)
    optimizer = torch.optim.AdamW(model.parameters())
    parameters = list(model.parameters())
    keeper = DigestKeeper()
    plain, digests = [], []
    for i in range(STEPS):
        begun = time.process_time()
        optimizer.zero_grad()
        functional.cross_entropy(model(x).flatten(0, -2), y.flatten()).backward()
        optimizer.step()
        between = time.process_time()
        keeper.note(2 * i, parameters)
        keeper.note(2 * i + 1, parameters)
        plain.append(between - begun)
        digests.append(time.process_time() - between)
    return median(plain), 1 + median(digests) / median(plain)


def main() -> None:
    """Print both."""
    torch.set_num_threads(1)
    for kind in ("gpt", "cnn"):
        seconds, relative = ratio(kind)
        print(f"{kind}: {seconds * 1e3:.1f} ms a step, {relative:.4f} with digests")


if __name__ == "__main__":
    main()
