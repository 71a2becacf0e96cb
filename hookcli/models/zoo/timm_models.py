"""`timm:NAME`: `timm.create_model(NAME, pretrained=False)`. timm declares the batch itself."""

from __future__ import annotations

from functools import partial
from typing import Any

from hookcli.errors import RequestError
from hookcli.models.zoo.choice import ZooChoice, library
from hookcli.models.zoo.trusted_keys import RULES_IN_ARGUMENTS, check_trusted
from hookcli.sentences import unknown
from hookcli.spec.request import Argument
from hookcli.text import closest, try_instead

_LIST = "run `python -c 'import timm; print(timm.list_models())'` for all names"


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
            hint=try_instead([f"timm:{other}" for other in near], _LIST),
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
