"""Libraries that check whether a tensor is fake, and then behave differently from a real run.

transformers drops a mask that masks nothing, which it reads from the mask's values. A fake mask is
kept: the layers below then get an input that they would not get in a real run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

_CHECK = ("transformers.utils.import_utils", "is_fake_tensor")


@contextmanager
def told_of_masks(callback: Callable[[], None]) -> Iterator[None]:
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
