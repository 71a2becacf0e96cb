"""`python benchmarks/ranks_cost.py [--rounds N]`: what hookcli adds to ranks that run alone.

In turns: the ranks of a script that wraps the model in DistributedDataParallel and takes one step,
and `hookcli grads --nproc N` on the same model. The figure is the difference of the medians of
whole commands, which holds the start of the ranks, the look at what the loss reaches, the exact
average beside the hook, and the merging of the reports.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parent.parent
MODEL = ROOT / "sample_models" / "tiny_gpt.py"
BARE = """\
import importlib.util, os, sys
import torch, torch.distributed as dist
store, rank, world, path = sys.argv[1:]
dist.init_process_group("gloo", store=dist.FileStore(store, int(world)), rank=int(rank),
                        world_size=int(world))
spec = importlib.util.spec_from_file_location("model", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
batch = module.example_inputs
batch = batch() if callable(batch) else batch
model = torch.nn.parallel.DistributedDataParallel(module.TinyGPT())
model(**batch)["loss"].backward()
os._exit(0)
"""


def bare(world: int, folder: Path) -> float:
    """Seconds from the start of the first rank to the end of the last."""
    script, store = folder / "bare.py", folder / "store"
    script.write_text(BARE)
    store.unlink(missing_ok=True)
    threads = str(max(1, (os.cpu_count() or 1) // world))
    env = {**os.environ, "OMP_NUM_THREADS": threads, "GLOO_SOCKET_IFNAME": "lo"}
    started = perf_counter()
    ranks = [
        subprocess.Popen([sys.executable, script, store, str(rank), str(world), MODEL], env=env)
        for rank in range(world)
    ]
    if any(rank.wait() for rank in ranks):
        raise SystemExit("the script failed")
    return perf_counter() - started


def hooked(world: int, folder: Path) -> float:
    """Seconds of the whole command."""
    command = [sys.executable, "-m", "hookcli", "grads", MODEL, "--nproc", str(world)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = perf_counter()
    subprocess.run([*command, "-f", f"json={folder / 'report.json'}"], env=env, check=True)
    return perf_counter() - started


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for world in (2, 4):
            pairs = [(bare(world, folder), hooked(world, folder)) for _ in range(rounds)]
            floor, whole = (statistics.median(column) for column in zip(*pairs, strict=True))
            print(f"{world} ranks: {whole:.2f} s, by themselves {floor:.2f} s, "
                  f"{whole - floor:.2f} s more (at most 3)")  # fmt: skip


if __name__ == "__main__":
    main()
