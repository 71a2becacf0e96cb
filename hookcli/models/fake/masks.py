"""Libraries that ask whether a tensor is fake, and then do other than they would for real.

transformers drops a mask that masks nothing. It reads that from the mask's values, and where the
mask is fake it keeps it: the layers below get an input that they would not have had.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

_ASKS = ("transformers.utils.import_utils", "is_fake_tensor")


@contextmanager
def told_of_masks(told: Callable[[], None]) -> Iterator[None]:
    """Call `told` when transformers finds a mask to be fake. It may raise."""
    module = sys.modules.get(_ASKS[0])
    asked: Any = getattr(module, _ASKS[1], None)
    if module is None or asked is None:
        yield
        return

    def listening(value: Any) -> Any:
        answer = asked(value)
        if answer and isinstance(value, torch.Tensor) and value.dtype == torch.bool:
            told()
        return answer

    setattr(module, _ASKS[1], listening)
    try:
        yield
    finally:
        setattr(module, _ASKS[1], asked)
