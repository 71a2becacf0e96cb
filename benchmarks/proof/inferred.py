"""For how many models that declare no input is a batch inferred that really runs?

    python -m benchmarks.proof.inferred [NAME ...]

A model counts if plain PyTorch runs it with the inferred batch, drawn from a fixed seed.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import torch

from hookcli.engine.attempt import Session
from hookcli.errors import HookcliError, NoFakeBatchError
from hookcli.inputs.materialise import make_tensor
from hookcli.spec.inferred import Hypothesis, command
from hookcli.spec.request import Attempt, ModelSpec, RunSpec, Spec

HALVES = ("tuned", "held_out")
_FOLDER = Path(__file__).parent / "foreign"


def models(half: str) -> Iterator[tuple[Path, str]]:
    """Yield the file and the class of each model."""
    for path in sorted((_FOLDER / half).glob("[a-z]*.py")):
        for name in module_of(path).MODELS:
            yield path, name


def inferred(path: Path, name: str) -> tuple[str, int, str]:
    """Return the inferred batch as flags, the number of trials, and why it does not run."""
    spec = Spec("inspect", ModelSpec(f"{path}:{name}"), inputs=(), run=RunSpec())
    try:
        try:
            result = Session(spec, Attempt("fake"), lambda *_: None).run()
        except NoFakeBatchError as error:  # as the command does
            result = Session(spec, Attempt("real", fallback=str(error)), lambda *_: None).run()
    except HookcliError as error:
        return "", len(getattr(error, "details", "").splitlines()), str(error)
    if result.inferred is None:
        return "", 0, "nothing was inferred"
    problem = ""
    for batch in (result.inferred, result.inferred.with_smallest_ids()):
        problem = _problem(path, name, batch)
        if not problem.startswith("IndexError"):
            break
    return command(result.inferred), len(result.trials), problem


def _problem(path: Path, name: str, batch: Hypothesis) -> str:
    torch.manual_seed(0)
    model = getattr(module_of(path), name)().eval()
    args, kwargs = batch.map(lambda _, s: make_tensor(s, torch.float32, "cpu"))
    try:
        with torch.no_grad():
            model(*args, **kwargs)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def module_of(path: Path):
    """Return the module of a file of models, imported once."""
    spec = importlib.util.spec_from_file_location(f"foreign_{path.parent.name}_{path.stem}", path)
    if spec.name not in sys.modules:
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    return sys.modules[spec.name]


def main(names: list[str]) -> None:
    """Print each model, and the share of each half."""
    warnings.simplefilter("ignore")
    for half in HALVES:
        good = total = 0
        for path, name in models(half):
            if names and name not in names:
                continue
            flags, trials, problem = inferred(path, name)
            total, good = total + 1, good + (not problem)
            print(f"{'fail' if problem else 'ok':4} {name} [{trials}] {flags} {problem[:160]}")
        if total:
            print(f"{half}: {good} of {total} models, {100 * good / total:.1f} %")


if __name__ == "__main__":
    main(sys.argv[1:])
