"""Puts a batch where the model is: on its device, or among fake tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from hookcli.engine.batch.fake_checks import FakeDoubtError, FakeTensorChecks
from hookcli.models.batch import Batch, map_batch
from hookcli.models.fake.fake import Faker
from hookcli.models.fake.masks import told_of_masks
from hookcli.spec.request import RunSpec

_MASKS = "transformers keeps a fake mask that a real run may drop: inputs may show an extra mask"


@contextmanager
def batch_on_device(
    batch: Batch, run: RunSpec, faker: Faker | None, warn: Callable[[str], None]
) -> Iterator[tuple[Batch, FakeTensorChecks | None]]:
    """Yield the batch on its device or with fake tensors, and the checks of a fake run."""
    if faker is None:
        device = run.device
        yield batch if device == "cpu" else map_batch(batch, lambda t: t.to(device)), None
        return
    doubts = FakeTensorChecks()

    def fake(tensor: torch.Tensor) -> torch.Tensor:
        return doubts.knowing(tensor, faker.tensor(tensor))

    def mask() -> None:
        if run.tensors == "auto":  # a real run decides
            raise FakeDoubtError("a real run may drop a mask, depending on its values")
        warn(_MASKS)

    faked = map_batch(batch, fake)
    with faker.mode, told_of_masks(mask):
        yield faked, doubts
