"""Find the model that a name of a library stands for."""

from __future__ import annotations

import importlib.util
import sys

from hookcli.models import places
from hookcli.models.sources.zoo_names import ZooModel
from hookcli.models.zoo.choice import ZooChoice, library
from hookcli.spec.request import ModelSpec


def choose(model: ZooModel, spec: ModelSpec) -> ZooChoice:
    """Return what builds the model, and a batch for it if the library has one.

    Raises
    ------
    RequestError : the library is not installed, or has no such model.
    ModelError : the library or its configuration is damaged.
    """
    if model.library == "hf":
        from hookcli.models.zoo.hugging_face import hugging_face_choice

        return hugging_face_choice(model, spec)
    if model.library == "timm":
        from hookcli.models.zoo.vision_models import timm_choice

        return timm_choice(model.name, spec.args, spec.source, trust=spec.trust)
    from hookcli.models.zoo.vision_models import torchvision_choice

    return torchvision_choice(model.name, spec.args, spec.source, trust=spec.trust)


def is_attribute(model: ZooModel) -> bool:
    """Whether `timm:NAME` or `torchvision:NAME` is `package:attr`, as for any other module.

    That is an attribute which is not a registered model, such as `create_model` or
    `models.resnet18`; and any attribute of a module of this name that is the user's.
    """
    if model.library == "hf":
        return False
    return _is_local(model.library) or _has(model)


def _is_local(name: str) -> bool:
    """Whether the working folder has a module of this name, which Python imports first."""
    return (places.START / f"{name}.py").is_file() or (
        places.START / name / "__init__.py"
    ).is_file()


def _has(model: ZooModel) -> bool:
    if model.library not in sys.modules and importlib.util.find_spec(model.library) is None:
        return False
    value: object = library(model.library, f"{model.library}:{model.name}")
    for step in model.name.split("."):
        if not hasattr(value, step):
            return False
        value = getattr(value, step)
    return callable(value)
