"""What a script of tests/scripts really does, measured by lines in its own loop.

A comment `# truth: before("model", optimizer, loss)` in a script is code when the oracle runs it:
calls of the functions here, which use plain PyTorch. Lines keep their numbers, so that tracebacks
and warnings are those of the script as it is.
"""

from __future__ import annotations

import json
import os
import re
import sys
from importlib.machinery import PathFinder, SourceFileLoader

_COMMENT = re.compile(r"^(\s*)# truth: (.*)$", re.MULTILINE)
_rows: dict[str, list[dict]] = {}
_saved: dict[str, tuple] = {}
_pieces: list[tuple] = []


def expand(source: str) -> str:
    """The source with the comments as code."""
    return _COMMENT.sub(r"\1__import__('tests.training.oracle', fromlist=['x']).\2", source)


class Loader(SourceFileLoader):
    """Imports modules of tests/scripts with the comments as code."""

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        return compile(expand(self.get_data(path).decode()), path, "exec", dont_inherit=True)


class Finder:
    """Finds the modules of one folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find_spec(self, fullname, path=None, target=None):
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or not str(spec.origin).startswith(self._folder):
            return None
        spec.loader = Loader(fullname, spec.origin)
        return spec


def before(record, optimizer, loss, *, lr=..., of=None, forwards=None, scale=None,
           unscaled=False, skipped=False):  # fmt: skip
    """Called before optimizer.step(), with an optimizer or a list of parameters."""
    import torch

    groups = getattr(optimizer, "param_groups", None)
    held = [p for group in groups for p in group["params"]] if groups else list(optimizer)
    parameters = held if of is None else list(of)
    row = {
        "loss": _number(loss),
        "grad_norm": _norm([p.grad for p in parameters if p.grad is not None]),
        "lr": _number(groups[0]["lr"]) if groups else None,
        "weight_norm": _norm(parameters),
        "missing": sum(p.grad is None for p in held),
        "zero": sum(p.grad is not None and not p.grad.any().item() for p in held),
        "non_finite": sum(p.grad is not None and not p.grad.isfinite().all().item() for p in held),
        "skipped": skipped,
        "scale": scale,
        "parameters": [None if p.grad is None else _norm([p.grad]) for p in parameters],
    }
    if scale is not None and not unscaled:
        row["grad_norm_is_scaled"] = True
    if forwards is not None:
        row["forwards"] = forwards
    _rows.setdefault(record, []).append(row)
    _saved[record] = (parameters, [_full(p.detach()).clone() for p in parameters])
    assert torch.is_grad_enabled()


def after(record):
    """Called after optimizer.step()."""
    held, old = _saved.pop(record)
    _rows[record][-1]["update_norm"] = _norm([_full(p.detach()) - q for p, q in zip(held, old)])


def closure(record, optimizer, loss):
    """Called at the end of each call of the closure of an optimizer."""
    groups = optimizer.param_groups
    held = [p for group in groups for p in group["params"]]
    _pieces.append((held, _number(loss), _norm([p.grad for p in held]), groups[0]["lr"]))
    if len(_pieces) == 1:
        _saved[record] = (held, [p.detach().clone() for p in held])


def after_closures(record):
    """Called after optimizer.step(closure): the figures of the first and of all calls."""
    _, losses, norms, rates = zip(*_pieces)
    _pieces.clear()
    row = {"loss": losses[0], "grad_norm": norms[0], "lr": rates[0], "backwards": len(losses)}
    _rows.setdefault(record, []).append({**row, "losses": losses, "grad_norms": norms})
    after(record)


def piece(record, optimizer):
    """Called before the step of an optimizer that has one parameter."""
    (parameter,) = optimizer.param_groups[0]["params"]
    _pieces.append((_norm([parameter.grad]), optimizer.param_groups[0]["lr"]))


def whole(record, loss):
    """Called after the backward in which all optimizers have stepped."""
    norm = sum(n * n for n, _ in _pieces) ** 0.5
    row = {"loss": _number(loss), "grad_norm": norm, "lr": _pieces[0][1]}
    _pieces.clear()
    _rows.setdefault(record, []).append(row)


def stop():
    """Called in a forked child: what it does is not the parent's."""
    os.environ.pop("HOOKCLI_TRUTH", None)


def write():
    """Write the rows to the file that HOOKCLI_TRUTH names."""
    path = os.environ.get("HOOKCLI_TRUTH")
    if path:
        rank = os.environ.get("RANK")
        with open(path if rank is None else f"{path}.{rank}", "w") as stream:
            json.dump(_rows, stream)


def _norm(tensors):
    """The 2-norm of all tensors as one vector, in float64."""
    import torch

    with torch.no_grad():
        squares = [t.detach().double().square().sum() for t in map(_full, tensors)]
        return float(torch.stack(squares).sum().sqrt()) if squares else 0.0


def _full(tensor):
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def _number(value):
    return None if value is None else float(value.detach() if hasattr(value, "detach") else value)


def main(arguments: list[str]) -> None:
    """Run a script as the oracle: `python -m tests.training.oracle SCRIPT ARGS`, for torchrun."""
    import atexit

    path = os.path.abspath(arguments[0])
    sys.argv[:] = arguments
    sys.path.insert(0, os.path.dirname(path))
    atexit.register(write)
    with open(path) as stream:
        code = compile(expand(stream.read()), path, "exec", dont_inherit=True)
    names = sys.modules["__main__"].__dict__
    names["__file__"] = path
    exec(code, names)


if __name__ == "__main__":
    # the scripts import this module by its name, and its rows are there
    from tests.training.oracle import main as run_oracle

    run_oracle(sys.argv[1:])
