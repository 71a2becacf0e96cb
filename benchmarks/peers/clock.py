"""What every script does before and after its work: load the model's file, and write its times.

The times go to the file that BENCH_TIMES names, not to stdout.
"""

import importlib
import json
import os
from pathlib import Path
from time import perf_counter

START = perf_counter()


def load(name):
    return importlib.import_module(f"benchmarks.models.{name}")


def tell(imported):
    """`imported` is the `perf_counter` at which everything was imported."""
    times = {"imports": imported - START, "own": perf_counter() - imported}
    if file := os.environ.get("BENCH_TIMES"):
        Path(file).write_text(json.dumps(times))
