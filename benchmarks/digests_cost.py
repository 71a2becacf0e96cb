"""`python -m benchmarks.digests_cost`: what the digests of a rank's parameters add to a step.

The small GPT and the ResNet-20 of the benchmarks, in one thread, by processor time: a step, and the
two digests of it, in turns; then whole steps with and without digests, in turns, which has what
digests displace from the caches too. Medians.
"""

from __future__ import annotations

import time
from statistics import median

import torch
from torch.nn import functional

from benchmarks.peers.training import Gpt, cnn
from hookcli.training.parallel.step_digests import DigestKeeper

STEPS = 40
REPEATED = 3
TURNS = 400  # steps with and without


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


def in_turns(kind: str) -> float:
    """Return the median time of a step with digests relative to that of one without, in turns."""
    model, x, y = batches(kind)
    optimizer = torch.optim.AdamW(model.parameters())
    parameters = list(model.parameters())
    keeper = DigestKeeper()
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for i in range(TURNS):
        digests = i % 4 in {1, 2}  # neither is always the one after the other
        begun = time.process_time()
        optimizer.zero_grad()
        functional.cross_entropy(model(x).flatten(0, -2), y.flatten()).backward()
        if digests:
            keeper.note(2 * i, parameters)
        optimizer.step()
        if digests:
            keeper.note(2 * i + 1, parameters)
        seconds[digests].append(time.process_time() - begun)
    return median(seconds[True]) / median(seconds[False])


def main() -> None:
    """Print both."""
    torch.set_num_threads(1)
    for kind in ("gpt", "cnn"):
        seconds, relative = ratio(kind)
        whole = ", ".join(f"{in_turns(kind):.4f}" for _ in range(REPEATED))
        print(
            f"{kind}: {seconds * 1e3:.1f} ms a step, {relative:.4f} with digests; "
            f"steps in turns: {whole}",
            flush=True,
        )


if __name__ == "__main__":
    main()
