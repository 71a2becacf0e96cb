"""A training script on a GPU: a kind, a precision and a number of steps.

It writes its losses and what its loop took to the file that BENCH_TIMES names. With `strict`, any
operation that waits for the GPU between the third and the hundredth step is an error.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

DEVICE = os.environ.get("BENCH_DEVICE", "cuda")


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
    def __init__(self, words=1000, width=512, layers=8, heads=8, length=256):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.register_buffer("index", torch.arange(length))

    def forward(self, x):
        x = self.words(x) + self.places(self.index[: x.shape[1]])
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def block(width, out, stride):
    return nn.Sequential(
        nn.Conv2d(width, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU()
    )


def cnn():
    sizes = [(3, 64, 1), *[(64, 64, 1)] * 4, (64, 128, 2), *[(128, 128, 1)] * 4]
    sizes += [(128, 256, 2), *[(256, 256, 1)] * 4]
    layers = [block(*size) for size in sizes]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 10))


def work(kind):
    """The model, its optimizer, and a function that returns the loss of a batch."""
    torch.manual_seed(0)
    if kind == "cnn":
        net = cnn().to(DEVICE)
        data = torch.randn(8, 64, 3, 32, 32, device=DEVICE)
        labels = torch.randint(10, (8, 64), device=DEVICE)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        return optimizer, lambda i: functional.cross_entropy(net(data[i % 8]), labels[i % 8])
    net = Gpt().to(DEVICE)
    text = torch.randint(1000, (8, 8, 257), device=DEVICE)
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-4, fused=kind == "gpt-fused")

    def loss_of(i):
        part = text[i % 8]
        return functional.cross_entropy(net(part[:, :-1]).flatten(0, 1), part[:, 1:].flatten())

    return optimizer, loss_of


def main():
    kind, precision, steps, *flags = sys.argv[1:]
    torch.backends.cudnn.deterministic = True
    optimizer, loss_of = work(kind)
    scaler = torch.amp.GradScaler(DEVICE, enabled=precision == "fp16")
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
    context = contextlib.nullcontext
    if dtype is not None:
        context = functools.partial(torch.autocast, DEVICE, dtype)
    losses = []
    for i in range(int(steps)):
        if i == 20:
            torch.cuda.synchronize()
            clock = time.perf_counter()
        if "strict" in flags and i in (3, 98):
            torch.cuda.set_sync_debug_mode("error" if i == 3 else "default")
        optimizer.zero_grad()
        with context():
            loss = loss_of(i)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.detach())
    torch.cuda.synchronize()
    took = time.perf_counter() - clock
    told = {
        "step": took / (int(steps) - 20),
        "losses": torch.stack(losses).double().tolist(),
        "peak": torch.cuda.max_memory_allocated(),
    }
    Path(os.environ["BENCH_TIMES"]).write_text(json.dumps(told))


if __name__ == "__main__":
    main()
