"""Parameters that use the same memory, and the tied embeddings that a configuration promises."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from hookcli.engine.probes.context import ProbeWatcher, Requests
from hookcli.models.model import Model
from hookcli.report.findings import Measurement
from hookcli.spec.request import Spec

PROBE = "shared_memory"


class SharedMemory(ProbeWatcher):
    """Observes the parameters of a model before it runs."""

    def __init__(self, measurements: list[Measurement]) -> None:
        self.measurements = measurements

    def begin(self, model: Model) -> None:
        """Add a measurement for each group of parameters in one memory, and for tied embeddings."""
        self.measurements.clear()
        for names in _groups(model):
            self.measurements.append(Measurement(PROBE, names[0], None, {"with": names[1:]}, None))
        embeddings = _embeddings(model.root)
        if embeddings is not None:
            self.measurements.append(Measurement(PROBE, "", None, embeddings, None))


def _groups(model: Model) -> list[list[str]]:
    """Return the names of distinct parameters whose elements begin at the same address."""
    groups: dict[tuple[torch.device, int], list[str]] = defaultdict(list)
    for info in model.parameters():
        tensor = info.tensor
        if is_lazy(tensor) or tensor.layout is not torch.strided or not tensor.numel():
            continue
        try:
            address = tensor.data_ptr()
        except RuntimeError:  # a subclass without memory of its own
            continue
        if address:
            groups[tensor.device, address].append(info.name)
    return [names for names in groups.values() if len(names) > 1]


def _embeddings(root: torch.nn.Module) -> dict[str, Any] | None:
    """Return whether the embeddings of a model of transformers are tied, if its config ties them.

    None for other models, and for those without an output layer.
    """
    config = getattr(root, "config", None)
    if not getattr(config, "tie_word_embeddings", False) or not hasattr(root, "tie_weights"):
        return None
    try:
        inputs, outputs = root.get_input_embeddings(), root.get_output_embeddings()  # type: ignore[operator]
    except (AttributeError, NotImplementedError, TypeError):
        return None
    first, other = getattr(inputs, "weight", None), getattr(outputs, "weight", None)
    if not (isinstance(first, torch.Tensor) and isinstance(other, torch.Tensor)):
        return None
    names = {id(parameter): name for name, parameter in root.named_parameters()}
    return {
        "setting": "tie_word_embeddings",
        "input": names.get(id(first), ""),
        "output": names.get(id(other), ""),
        "tied": first is other or first.data_ptr() == other.data_ptr(),
        "alike": first.shape == other.shape,
    }


def observe(_requests: Requests, _spec: Spec) -> list[ProbeWatcher]:
    """Return the watcher that compares the memory of parameters."""
    return [SharedMemory([])]
