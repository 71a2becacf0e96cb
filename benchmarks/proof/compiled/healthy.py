"""Right models, compiled: `hookcli diff` must not say that they differ.

`python -m benchmarks.proof.compiled.healthy BACKEND [--tolerance R] [NAMES]` compiles the small
models of benchmarks/proof/small.py, of transformers, and prints a line for each, and the counts.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.proof.compiled.divergences import compared
from benchmarks.proof.small import SMALL, Small

_SOURCE = """
import sys

import torch
import transformers

sys.path.insert(0, {root!r})
from benchmarks.proof.small import SMALL, config_of

ONE = SMALL[{name!r}]


def Net():
    torch.manual_seed(0)
    kind = getattr(transformers, ONE.model)
    return kind(kind.config_class(**config_of(ONE, kind.config_class)))
"""
_ROOT = str(Path(__file__).parents[3])
_WORDS = {"same": "equal", "different": "DIFFERENT"}


def inputs_of(one: Small) -> tuple[str, ...]:
    """Return the inputs as `--input` has them."""
    return tuple(
        f"{name}={'x'.join(map(str, shape))}" + (f":int64:0..{most - 1}" if most else "")
        for name, shape, most in one.inputs
    )


def judge(one: Small, backend: str, more: tuple[str, ...] = ()) -> tuple[str, str]:
    """Return "equal", "DIFFERENT", "does not compile" or "error", and what was said."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "net.py").write_text(_SOURCE.format(root=_ROOT, name=one.name))
        diff = compared(folder, f"compile={backend}", *inputs_of(one), more=more)
    if isinstance(diff, str):
        return "error", diff.strip()[-200:]
    first = diff["first"]
    if first is None:
        info = diff["compiled"]
        account = info["compiler"]
        count = "" if account is None else f"{account['graphs']} graphs"
        worst = max((t["relative"] or 0 for t in diff["output"]), default=0)
        return "equal", f"{worst:.1e}, {count}, noise runs {info['noise_runs']}"
    if first["sentence"].startswith(("the model does not compile", "backward of the compiled")):
        return "does not compile", first["sentence"]
    return "DIFFERENT", first["sentence"]


def main(backend: str, words: list[str]) -> None:
    """Compile the models with these names, or all of them.

    With a tolerance of 0, a difference passes only if rounding explains it.
    """
    names = [word for word in words if word in SMALL]
    more = tuple(word for word in words if word not in SMALL)
    counts: Counter[str] = Counter()
    for name in names or SMALL:
        began = time.perf_counter()
        verdict, text = judge(SMALL[name], backend, more)
        counts[verdict] += 1
        print(f"{verdict:17} {name}: {text} ({time.perf_counter() - began:.0f} s)", flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
