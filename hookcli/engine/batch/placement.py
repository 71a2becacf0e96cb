"""Puts a batch where the model is: on its device, or among fake tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from hookcli.engine.batch.fake_checks import FakeDoubtError, FakeTensorChecks
from hookcli.models.batch import Batch, map_batch
from hookcli.models.fake.fake import Faker
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
    with faker.mode, _told_of_masks(mask):
        yield faked, doubts


# Libraries may check whether a tensor is fake, and then behave differently from a real run:
# transformers drops a mask that masks nothing, which it reads from the mask's values. A fake mask
# is kept: the layers below then get an input that they would not get in a real run.

_CHECK = ("transformers.utils.import_utils", "is_fake_tensor")


@contextmanager
def _told_of_masks(callback: Callable[[], None]) -> Iterator[None]:
    """Call `callback` when transformers finds that a mask is fake. It may raise."""
    module = sys.modules.get(_CHECK[0])
    is_fake: Any = getattr(module, _CHECK[1], None)
    if module is None or is_fake is None:
        yield
        return

    def listening(value: Any) -> Any:
        answer = is_fake(value)
        if answer and isinstance(value, torch.Tensor) and value.dtype == torch.bool:
            callback()
        return answer

    setattr(module, _CHECK[1], listening)
    try:
        yield
    finally:
        setattr(module, _CHECK[1], is_fake)
