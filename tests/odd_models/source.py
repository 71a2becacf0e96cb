"""The models for MODEL: `source.py:NAME` builds one, `source.py:NAME__batch` is its batch."""

from __future__ import annotations

from hookcli.models.batch import Batch
from tests.odd_models import ODD, RAISING


def __getattr__(name: str):
    wanted = name.removesuffix("__batch")
    odd = {**ODD, **RAISING}.get(wanted)
    if odd is None:
        raise AttributeError(name)
    if wanted == name:
        return odd.build
    return lambda: Batch(*odd.batch())
