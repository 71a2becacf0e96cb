"""A training loop with hooks of `hookcli.attach`, for a number of steps.

It writes the processor time and the memory after each tenth to the file that BENCH_TIMES names.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import torch
from torch import nn

import hookcli
from benchmarks.peers.training import memory, processor


def main():
    steps = int(sys.argv[1])
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
    x = torch.randn(16, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    parts = []
    used = processor()
    with hookcli.attach(model, optimizer=optimizer) as recording:
        for i in range(steps):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
            if (i + 1) % (steps // 10) == 0:
                parts.append((processor() - used, memory("VmRSS")))
    events = len(recording.report().events)
    Path(os.environ["BENCH_TIMES"]).write_text(json.dumps({"parts": parts, "events": events}))


if __name__ == "__main__":
    main()
