"""Weights that `load_state_dict` was to load, and that have not arrived."""

from __future__ import annotations

from collections.abc import Collection

from torch import nn

from hookcli.models import places
from hookcli.training.observers.observer import Observer, variable_of
from hookcli.training.watched_function import TorchCall

_MOST_KEYS = 100_000


class LoadedWeights(Observer):
    """Counts the parameters that `load_state_dict(strict=False)` has loaded."""

    kinds = ("loaded",)
    after = {"load_state_dict": "loaded"}  # noqa: RUF012

    def loaded(self, call: TorchCall) -> None:
        """Note how many parameters were loaded, if keys were left over."""
        missing = getattr(call.result, "missing_keys", None)
        unexpected = getattr(call.result, "unexpected_keys", None)
        module, given = call.argument(0, "self"), call.argument(1, "state_dict")
        if not missing or not unexpected or not isinstance(module, nn.Module):
            return
        own = [name for name, _ in module.named_parameters()]
        if len(own) + len(given) > _MOST_KEYS:
            return
        lost = set(missing)
        prefix = prefix_between(lost.intersection(own), set(unexpected))
        renamed = 0
        if prefix is not None:
            added, removed = prefix
            renamed = sum(_renamed(name, added, removed) in unexpected for name in own)
        self.facts.add(
            "loaded",
            variable_of(module, call.frame) or type(module).__name__,
            places.of_frame(call.frame),
            parameters=len(own),
            loaded=sum(name not in lost for name in own),
            given=len(given),
            begin=common_beginning(list(given)),
            added="" if prefix is None else prefix[0],
            removed="" if prefix is None else prefix[1],
            renamed=renamed,
        )


def _renamed(name: str, added: str, removed: str) -> str:
    return added + name.removeprefix(removed)


def prefix_between(missing: Collection[str], unexpected: Collection[str]) -> tuple[str, str] | None:
    """Return what was added to the names of a model, and removed from them, to get the keys given.

    One of the two is "". None if no such prefix turns a missing name into a key.
    """
    for name in missing:
        for key in unexpected:
            if key.endswith(f".{name}"):
                return key.removesuffix(name), ""
            if name.endswith(f".{key}"):
                return "", name.removesuffix(key)
    return None


def common_beginning(keys: list[str]) -> str:
    """Return the parts of names with which all keys begin, with the dot behind them."""
    first = keys[0].split(".") if len(keys) > 1 else []
    common = 0
    while common < len(first) - 1 and all(
        key.split(".")[common : common + 1] == [first[common]] for key in keys
    ):
        common += 1
    return "".join(f"{part}." for part in first[:common])
