"""`python -m benchmarks.proof.sharded.run [MODE:RANKS…]`: joined figures beside the truth.

Each gradient norm, weight norm, mean, number of zeros, extreme and update ratio of the joined
report is compared with `full_tensor` of the same training, and with the training of one process.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.proof.sharded.nets import NETS
from benchmarks.timing import HOOKCLI
from hookcli.report.ranks.wrapper_names import without_wrappers

SCRIPT = str(Path(__file__).with_name("training.py"))
MODES = ("ddp", "fsdp", "hsdp", "fsdp1", "hybrid1", "tp", "sp", "2d", "pp")
RUNS = [*(f"{mode}:{ranks}" for mode in MODES for ranks in (2, 4)), "interleaved:2"]
STAGES = {"pp", "interleaved"}
NEAR = 1e-6
ROUNDED = 0.05  # of trainings in bfloat16, whose sums are rounded in another order
NAMES = ("norm", "mean", "zeros", "min", "max")


def start_ranks(script: Sequence[str], ranks: int, report: Path) -> dict:
    """Run a script on several ranks under `hookcli run`, and return the joined report."""
    command = [HOOKCLI, "run", "-q", "-f", f"json={report}", "--steps", "all", *script]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    started = []
    for rank in range(ranks):
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        if ranks > 1:
            environment |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "MASTER_PORT": port}
            environment |= {"WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks)}
            environment |= {"MASTER_ADDR": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo"}
        started.append(subprocess.Popen(command, env=environment))
    ended = [process.wait() for process in started]
    if any(ended):
        raise SystemExit(f"{' '.join(script)} on {ranks} ranks failed")
    return json.loads(report.read_text())


def run_ranks(mode: str, ranks: int, folder: Path, *more: str) -> tuple[dict, dict]:
    """Train in one way; return the report, and what the script says."""
    truth = folder / f"{mode}{ranks}.truth"
    report = start_ranks([SCRIPT, mode, str(truth), *more], ranks, folder / f"{mode}{ranks}.json")
    return report, json.loads(truth.read_text()) if truth.exists() else {}


def relative(a: float | None, b: float | None) -> float:
    """Return the relative difference; infinite if one is missing."""
    if a is None or b is None:
        return 0.0 if a == b else float("inf")
    return abs(a - b) / max(abs(a), abs(b), 1e-12)


def of_report(record: dict) -> Iterator[tuple[tuple, float | None]]:
    """Yield each figure of a record with its key: step, parameter, kind."""
    sampled = record["training"]["sampled"]
    for row in record["parameters"]:
        name_of = without_wrappers(row["name"])
        for entry in row["steps"]:
            grad = entry["grad"]
            for name in NAMES:
                yield (
                    (entry["step"], name_of, f"grad {name}"),
                    None if grad is None else grad[name],
                )
        for name in NAMES:
            yield (sampled[-1], name_of, f"weight {name}"), row["stats"][name]
    for row in record["training"]["updates"]:
        for step, ratio in zip(sampled, row["ratios"], strict=True):
            yield (step, without_wrappers(row["name"]), "ratio"), ratio


def of_truth(rows: Sequence[dict]) -> dict[tuple, float | None]:
    """Return the figures of the script under the same keys."""
    known: dict[tuple, float | None] = {}
    for step, row in enumerate(rows):
        for name, entry in row.items():
            for kind in ("grad", "weight"):
                for i, figure in enumerate(NAMES):
                    known[step, name, f"{kind} {figure}"] = entry[kind] and entry[kind][i]
            known[step, name, "ratio"] = entry["ratio"]
    return known


def compare(report: dict, truth: dict, label: str, *, exact: bool) -> tuple[int, list[str]]:
    """Return how many figures were compared, and those that differ."""
    count, wrong = 0, []
    for (name, rows), record in zip(truth.items(), report["records"], strict=True):
        known = of_truth(rows)
        limit = ROUNDED if name == "bf16" and not exact else NEAR
        size = max(known[key] or 0 for key in known if key[2] == "grad norm")
        pending = {
            row["name"]
            for row in record["parameters"]
            if "Partial(sum)" in row.get("grad_placements", ())
        }
        for key, value in of_report(record):
            count += 1
            if value is None and key[1] in pending and key[2].startswith("grad"):
                continue  # it is said that the sum is pending
            if name == "bf16" and not exact and not key[2].endswith("norm"):
                continue
            other = known.get(key)
            tiny = value is not None and other is not None and abs(value - other) < 1e-9 * size
            rounding = (known.get((*key[:2], "grad norm")) or 0) < 1e-9 * size
            if rounding and key[2] == "grad zeros":
                continue  # a gradient that is 0 except for rounding
            if relative(value, other) > limit and not tiny:
                wrong.append(f"{label} {name} {key}: {value} instead of {other}")
        for row in record["training"]["steps"]:
            norms = [known[row["step"], n, "grad norm"] for n in rows[0]]
            total = sum(norm**2 for norm in norms if norm is not None) ** 0.5
            count += 1
            if not pending and relative(row["grad_norm"], total) > limit:
                wrong.append(
                    f"{label} {name} step {row['step']}: grad_norm {row['grad_norm']}, {total}"
                )
    return count, wrong


def main() -> int:
    """Run all, and print a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", default=RUNS)
    parser.add_argument("--nets", nargs="*", default=[])
    arguments = parser.parse_args()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain, single = run_ranks("single", 1, folder, *arguments.nets)
        wrong += compare(plain, single, "single", exact=True)[1]
        for run in arguments.runs:
            mode, _, ranks = run.partition(":")
            nets = ["stack"] if mode in STAGES else arguments.nets
            report, truth = run_ranks(mode, int(ranks), folder, *nets)
            has_own = bool(truth)  # a script with slices or stages of parameters says nothing
            truth = truth or {name: single[name] for name in nets or NETS}
            count, found = compare(report, truth, f"{run} full_tensor", exact=has_own)
            alone = {name: single[name] for name in truth}
            _, more = compare(report, alone, f"{run} one process", exact=False)
            told = [row for r in report["records"] for row in r["training"].get("partings", [])]
            print(
                f"{run}: {count:,} figures, {len(found)} and {len(more)} differ, "
                f"{len(told)} partings"
            )
            for warning in report["warnings"]:
                print(f"  {warning}")
            for line in [*found[:4], *more[:4], *told[:4]]:
                print(f"  {line}")
            wrong += [*found, *more, *(f"{run}: {row}" for row in told)]
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
