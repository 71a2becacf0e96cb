"""A training script on the CPU, in one thread: `cnn`, `gpt` or `tiny`, and a number of steps.

It writes what its loop took to the file that BENCH_TIMES names.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, width, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(width, out, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(out)
        self.short = nn.Identity()
        if stride != 1:
            self.short = nn.Sequential(
                nn.Conv2d(width, out, 1, stride, bias=False), nn.BatchNorm2d(out)
            )

    def forward(self, x):
        inner = functional.relu(self.norm1(self.conv1(x)))
        return functional.relu(self.norm2(self.conv2(inner)) + self.short(x))


def cnn():
    """ResNet-20 for images of 32×32 pixels."""
    sizes = [(16, 16, 1), *[(16, 16, 1)] * 2, (16, 32, 2), *[(32, 32, 1)] * 2]
    sizes += [(32, 64, 2), *[(64, 64, 1)] * 2]
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 1, 1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        *(Block(*size) for size in sizes),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    )


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.act, self.drop = nn.GELU(), nn.Dropout(0.1)

    def forward(self, x):
        parts = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.drop(self.out(seen.transpose(1, 2).flatten(2)))
        return x + self.drop(self.down(self.act(self.up(self.norm2(x)))))


class Gpt(nn.Module):
    def __init__(self, words=256, width=128, layers=4, heads=4, length=128):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, x):
        x = self.words(x) + self.places(torch.arange(x.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def work(kind):
    """The model, its optimizer, and a function that returns the loss of a batch."""
    torch.manual_seed(0)
    if kind == "cnn":
        net = cnn()
        data, labels = torch.randn(16, 8, 3, 32, 32), torch.randint(10, (16, 8))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
        return optimizer, lambda i: functional.cross_entropy(net(data[i % 16]), labels[i % 16])
    if kind == "gpt":
        net = Gpt()
        text = torch.randint(256, (16, 4, 129))
        optimizer = torch.optim.AdamW(net.parameters(), lr=3e-4)

        def loss_of(i):
            part = text[i % 16]
            return functional.cross_entropy(net(part[:, :-1]).flatten(0, 1), part[:, 1:].flatten())

        return optimizer, loss_of
    net = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
    x = torch.randn(16, 8)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    return optimizer, lambda i: net(x).square().mean()


def processor():
    """Seconds of the processor that this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def memory(name):
    """Bytes that the system tells of this process, now (VmRSS) or at most (VmHWM)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return None


def main():
    kind, steps = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(1)
    optimizer, loss_of = work(kind)
    parts = []  # seconds of the processor and memory after each tenth of the steps
    took = []
    clock, used = time.perf_counter(), processor()
    for i in range(steps):
        begun = time.thread_time()
        optimizer.zero_grad()
        loss = loss_of(i)
        loss.backward()
        optimizer.step()
        took.append(time.thread_time() - begun)
        if (i + 1) % (steps // 10) == 0:
            parts.append((processor() - used, memory("VmRSS")))
    told = {
        "own": time.perf_counter() - clock,
        "processor": processor() - used,
        "peak": memory("VmHWM"),
        "parts": parts,
        "steps": took if kind != "tiny" else [],
        "loss": loss.item().hex(),
    }
    Path(os.environ["BENCH_TIMES"]).write_text(json.dumps(told))


if __name__ == "__main__":
    main()
