"""A compiled training of the benchmarks, in one thread: `cnn` or `gpt`, a backend, and steps.

It prints the processor time of its steps and a digest of its loss and weights as JSON, after the
compiler has run.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time

import torch
from torch.nn import functional

from benchmarks.peers.training import Gpt, cnn

WARM = 8  # steps before those that are measured: those in detail are among them


def main():
    kind, backend, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = Gpt() if kind == "gpt" else cnn()
    generator = torch.Generator().manual_seed(1)
    if kind == "gpt":
        x, y = (torch.randint(256, (4, 128), generator=generator) for _ in range(2))
    else:
        x = torch.randn(8, 3, 32, 32, generator=generator)
        y = torch.randint(10, (8,), generator=generator)
    model = torch.compile(net, backend=backend)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    took, began = [], time.perf_counter()
    for step in range(WARM + steps):
        begun = time.process_time()
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x).flatten(0, -2), y.flatten())
        loss.backward()
        optimizer.step()
        if step >= WARM:
            took.append(time.process_time() - begun)
        elif step == WARM - 1:
            first = time.perf_counter() - began
    whole = hashlib.sha256(loss.item().hex().encode())
    for parameter in net.parameters():
        whole.update(parameter.detach().numpy().tobytes())
    print(json.dumps({"steps": took, "first": first, "digest": whole.hexdigest()[:16]}))


if __name__ == "__main__":
    main()
