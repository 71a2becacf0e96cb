"""One document for each kind of page: reports of models, trainings, and comparisons.

Most are made in this process. Those of several processes are in data/, as the commands beside their
names wrote them.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import hookcli
from hookcli.comparison.diff import Diff
from hookcli.comparison.training.compare_trainings import compare_trainings
from hookcli.comparison.training.training_diff import TrainingDiff
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.report.files import read_any_report
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport
from tests.comparison.test_faults import batch, built
from tests.comparison.trainings import with_rows

DATA = Path(__file__).parent / "data"
Document = Report | TrainingReport | Diff | TrainingDiff


def html(document: Document) -> str:
    """Return the page of a document."""
    return FORMATS["html"].render(document, View())


@functools.cache
def sample(name: str) -> Document:
    """Return the document of this name; it is made once."""
    return SAMPLES[name]()


def model_of(module: str, name: str) -> tuple[torch.nn.Module, Any]:
    """A sample model and its batch."""
    source = importlib.import_module(f"sample_models.{module}")
    torch.manual_seed(0)
    return getattr(source, name)(), source.example_inputs()


def _inspect() -> Report:
    return hookcli.inspect(*model_of("siamese", "SiameseNet"))


def _grads() -> Report:
    return hookcli.grads(*model_of("tiny_gpt", "TinyGPT"))


def _grads_of_steps() -> Report:
    return hookcli.grads(*model_of("vae", "VAE"), steps=10)


def _trace() -> Report:
    return hookcli.trace(*model_of("unet", "UNet"), config=DATA / "unet_hooks.yaml")


def _check() -> Report:
    model, batch = model_of("broken.missing_gradients", "Classifier")
    return hookcli.check(model, inputs=batch)


def _diff() -> Diff:
    """The second of three blocks differs: an epsilon of 1e-6 in place of 1e-5."""
    return hookcli.diff(built("transformer"), built("transformer", "epsilon"), batch("transformer"))


def _stored(name: str) -> Any:
    return read_any_report(str(DATA / f"{name}.json"))


def _run_diff() -> TrainingDiff:
    a = _stored("gan_run")
    first = a.records[0]
    losses = {row.step: row.loss * 1.5 for row in first.training.steps if row.step >= 4}
    b = dataclasses.replace(a, records=(with_rows(first, loss=losses), *a.records[1:]))
    return compare_trainings(a, b)


SAMPLES: dict[str, Callable[[], Document]] = {
    "inspect": _inspect,
    "grads": _grads,
    "grads_steps": _grads_of_steps,
    "trace": _trace,
    "check": _check,
    # hookcli run -f json=gan_run.json tests/scripts/gan.py --niter 12 --outf w.pt
    "run": functools.partial(_stored, "gan_run"),
    "diff": _diff,
    "run_diff": _run_diff,
    # hookcli grads -c ddp.yaml -f json=ddp_grads.json, with the configuration of
    # tests/distributed/test_ddp.py and the hook fp16_compress
    "ranks": functools.partial(_stored, "ddp_grads"),
}
