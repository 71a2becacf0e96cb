"""`torchvision:NAME` and `timm:NAME`: a registered model of the library, without weights.

torchvision: the size of the batch is the one that the transforms of the model's published weights
produce. No weights are downloaded: their descriptions are part of torchvision.

timm: `timm.create_model(NAME, pretrained=False)`. timm declares the batch itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from hookcli.errors import RequestError
from hookcli.models.batch import Batch
from hookcli.models.zoo.choice import ZooChoice, library
from hookcli.models.zoo.trusted_keys import RULES_IN_ARGUMENTS, RULES_OF_TORCHVISION, check_trusted
from hookcli.sentences import unknown
from hookcli.spec.request import Argument
from hookcli.text import closest, try_instead

_LIST = "run `python -c 'import torchvision; print(torchvision.models.list_models())'`"
_SIDE, _FRAMES = 224, 16  # if the weights do not tell
_WEIGHTS = ("weights", "weights_backbone")  # the latter's default downloads a backbone


def torchvision_choice(
    name: str, args: tuple[Argument, ...], source: str, *, trust: bool = False
) -> ZooChoice:
    """Return the model of this name, such as "resnet18" or "maskrcnn_resnet50_fpn".

    Raises
    ------
    RequestError : torchvision is not installed, or does not know the name, or a configuration
        names weights to download, and it is not trusted.
    ModelError : torchvision cannot be imported.
    """
    models: Any = library("torchvision", source).models
    names = models.list_models()
    if name not in names:
        near = closest(name, names, 3)
        raise RequestError(
            unknown("model of torchvision", name),
            place=source,
            hint=try_instead([f"torchvision:{other}" for other in near], _LIST),
            instead=[f"torchvision:{other}" for other in near],
        )
    builder = models.get_model_builder(name)
    accepted = inspect.signature(builder).parameters
    without = {key: None for key in _WEIGHTS if key in accepted}
    if not trust:
        _check_downloads(args, [*accepted], source)
    kind = builder.__module__.split(".")[2:3]
    # Larger sizes are those of weights that were fine-tuned in a model of that size.
    weights = min(models.get_model_weights(name), key=_size, default=None)

    def batch(samples: int) -> tuple[str, Batch]:
        return "torchvision's own size", _batch(kind, weights, samples)

    return ZooChoice(partial(builder, **without), name, args, batch=batch)


def _check_downloads(args: tuple[Argument, ...], names: list[str], source: str) -> None:
    """Check that no argument of a configuration makes torchvision download weights.

    torchvision accepts arguments without a name too, for parameters that have one only. A person
    may type `--arg weights=DEFAULT`, which names weights of torchvision's own.

    Raises
    ------
    RequestError : an argument names weights.
    """
    named = [
        replace(argument, name=argument.name or names[i]) if argument.name or i < len(names)
        else argument
        for i, argument in enumerate(args)
    ]  # fmt: skip
    given = [argument for argument in named if argument.name and argument.origin]
    values = {argument.name: argument.value for argument in given if argument.name}
    check_trusted(values, given, source, rules=RULES_OF_TORCHVISION)


def _batch(kind: list[str], weights: Any, samples: int) -> Batch:
    """Return a batch for a model of this kind, the name of torchvision's folder."""
    height, width = _size(weights)
    if kind == ["detection"]:
        return Batch(([torch.rand(3, height, width) for _ in range(samples)],))
    if kind == ["optical_flow"]:
        return Batch(tuple(torch.rand(samples, 3, height, width) for _ in range(2)))
    if kind == ["video"]:
        frames = max(_FRAMES, _meta(weights).get("min_temporal_size", 1))
        return Batch((torch.rand(samples, 3, frames, height, width),))
    return Batch((torch.rand(samples, 3, height, width),))


def _meta(weights: Any) -> Mapping[str, Any]:
    meta = getattr(weights, "meta", None)
    return meta if isinstance(meta, Mapping) else {}


def _size(weights: Any) -> tuple[int, int]:
    """Return the height and width that the transforms produce; the smallest if they keep it."""
    transforms = getattr(weights, "transforms", None)
    given = getattr(transforms, "keywords", {})  # a partial of a class
    size = given.get("crop_size") or given.get("resize_size")
    if size is None:
        least = _meta(weights).get("min_size")
        size = [max(side, _SIDE) for side in least] if isinstance(least, list | tuple) else _SIDE
    if isinstance(size, int):
        return size, size
    return int(size[0]), int(size[-1])


_LIST_OF_TIMM = "run `python -c 'import timm; print(timm.list_models())'` for all names"


def timm_choice(
    name: str, args: tuple[Argument, ...], source: str, *, trust: bool = False
) -> ZooChoice:
    """Return the model of this name, such as "resnet18" or "resnet18.a1_in1k".

    Raises
    ------
    RequestError : timm is not installed, or does not know the name, or an argument names a file,
        a download or code, and it is not trusted.
    ModelError : timm cannot be imported.
    """
    timm: Any = library("timm", source)
    if not timm.is_model(name):
        near = closest(name, timm.list_models(), 3)
        raise RequestError(
            unknown("model of timm", name),
            place=source,
            hint=try_instead([f"timm:{other}" for other in near], _LIST_OF_TIMM),
            instead=[f"timm:{other}" for other in near],
        )
    if not trust:
        values = {
            argument.name: argument.value
            for argument in args
            if argument.name and not _is_typed_download(argument)
        }
        check_trusted(values, args, source, rules=RULES_IN_ARGUMENTS)
    return ZooChoice(partial(timm.create_model, name, pretrained=False), name, args)


def _is_typed_download(argument: Argument) -> bool:
    """Return whether a person typed that timm downloads its own weights for the name."""
    typed = not argument.origin
    return typed and argument.name == "pretrained" and argument.value in (True, False)
