"""What the statistics of a tensor cost, beside the obvious seven operators.

    python benchmarks/statistics_cost.py [--threads N] [--seconds S]

Both are run in turn, so that whatever else the machine does slows both; medians and, since
parallel operators wait for every core, the least.
"""

from __future__ import annotations

import argparse
import statistics as stats
import time

import torch

from hookcli.engine.statistics.statistics import norm_of_change, statistics

SIZES = [1, 64, 1_000, 32_000, 1_000_000, 10_000_000]
DTYPES = [
    torch.float64, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.int64, torch.int32,
    torch.int16, torch.uint8, torch.bool, torch.complex64,
]  # fmt: skip
MILLION = 1_000_000


def naive(t):
    """What one would write first; over moduli and float32 where operators are missing."""
    if t.is_sparse:
        t = t.to_dense()
    t = t.abs() if t.is_complex() else t
    f = t if t.dtype in {torch.float32, torch.float64, torch.float16, torch.bfloat16} else t.float()
    std = f.std(correction=min(1, f.numel() - 1))
    figures = [f.norm(), f.mean(), std, f.min(), f.max(), f.abs().max()]
    figures += [(f == 0).sum(), f.isnan().sum(), f.isinf().sum()]
    return [figure.item() for figure in figures]


def alternate(first, second, seconds):
    """Median and least of each in microseconds, the two in turn."""
    times = ([], [])
    first(), second()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 5:
        for run, into in zip((first, second), times, strict=True):
            start = time.perf_counter()
            run()
            into.append((time.perf_counter() - start) * 1e6)
    return [(stats.median(t), min(t)) for t in times]


def cases():
    draw = torch.Generator().manual_seed(0)
    for size in SIZES:
        yield f"float32, {size:,}", torch.randn(size, generator=draw)
    base = torch.randn(MILLION, generator=draw)
    yield "float32 ReLU", base.relu()
    yield "float32 about 1e4", base + 1e4
    yield "float32 * 1e-30", base * 1e-30
    yield "float32 constant", torch.full((MILLION,), 0.1)
    yield "float32 with NaN and Inf", base.log() / (base > 3)
    yield "float32 transposed slice", torch.randn(1100, 1000, generator=draw).t()[:, :1000]
    yield "float32 every second", torch.randn(2 * MILLION, generator=draw)[::2]
    yield "float32 channels_last", base.view(10, 100, 25, 40).to(memory_format=torch.channels_last)
    yield "float32 expanded", base[:1000].expand(1000, 1000)
    yield "sparse, 1 in 20", base.where(base > 1.645, 0.0).to_sparse()
    for dtype in DTYPES:
        given = torch.randn(MILLION, generator=draw, dtype=torch.float64) * 10
        yield str(dtype).removeprefix("torch."), given.to(dtype)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seconds", type=float, default=1.0, help="for each row")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    print(f"torch {torch.__version__}, {given.threads} threads; a million elements unless said")
    print(f"{'':28}{'ours, ms':>10}{'least':>9}{'naive, ms':>12}{'least':>9}{'times':>8}")
    for name, tensor in cases():
        ours, plain = alternate(
            lambda t=tensor: statistics(t), lambda t=tensor: naive(t), given.seconds
        )
        row(name, ours, plain)
    old = torch.randn(MILLION)
    new = old + 1
    row("norm_of_change", *alternate(
        lambda: norm_of_change(old, new), lambda: (new.double() - old.double()).norm().item(),
        given.seconds,
    ))  # fmt: skip


def row(name, ours, plain):
    figures = [figure / 1000 for figure in (*ours, *plain)]
    print(
        f"{name:28}{figures[0]:10.4f}{figures[1]:9.4f}{figures[2]:12.4f}{figures[3]:9.4f}"
        f"{plain[0] / ours[0]:8.1f}"
    )


if __name__ == "__main__":
    main()
