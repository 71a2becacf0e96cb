"""Train and eval mode."""

from __future__ import annotations

from hookcli.config.spec import Mode
from hookcli.models.base import Model


def set_mode(model: Model, mode: Mode) -> None:
    """Put the model in train or eval mode, or leave it."""
    if mode != "as-is":
        model.root.train(mode == "train")
