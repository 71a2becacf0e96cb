"""Values of `--arg` in a configuration of transformers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hookcli.errors import RequestError
from hookcli.spec.request import Argument
from hookcli.text import nearest, try_instead

_LAYERS = "num_hidden_layers"


def merged(data: dict[str, Any], args: Iterable[Argument]) -> dict[str, Any]:
    """Return the configuration with the values of the arguments.

    A mapping changes the keys that it names: `text_config={num_hidden_layers: 2}`.
    """
    return _merged(data, {argument.name or "": argument.value for argument in args})


def _merged(data: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    values = dict(data)
    for key, value in changes.items():
        old = values.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        values[key] = _merged(old, value) if both else value  # type: ignore[arg-type]
    layers = changes.get(_LAYERS)
    if isinstance(layers, int) and not isinstance(layers, bool):
        _fit_layers(values, data.get(_LAYERS), layers, changes)
    return values


def _fit_layers(values: dict[str, Any], before: Any, layers: int, changes: dict[str, Any]) -> None:
    """Shorten the lists with an entry for each layer, such as `layer_types`.

    Longer ones are omitted, so that transformers computes them.
    """
    for key, value in list(values.items()):
        per_layer = "layer" in key and isinstance(value, list) and len(value) == before
        if not per_layer or key in changes:
            continue
        if len(value) >= layers:
            values[key] = value[:layers]
        else:
            del values[key]


def check_keys(config: Any, args: Iterable[Argument]) -> None:
    """Check that a configuration without the arguments has every key that they name.

    Raises
    ------
    RequestError : a key is unknown.
    """
    values = config.to_dict()
    known = set(values) | set(config.attribute_map)
    for argument in args:
        name = argument.name or ""
        if name in known:
            continue
        parts = [key for key, part in values.items() if isinstance(part, dict) and name in part]
        near = nearest(name, known, cutoff=0.6)
        hint = try_instead(near, "choose a key of config.json, or of its configuration class")
        raise RequestError(
            f"unknown key '{name}' of {type(config).__name__}",
            place=argument.place,
            hint=f"write `--arg '{parts[0]}={{{name}: VALUE}}'`" if parts else hint,
        )
