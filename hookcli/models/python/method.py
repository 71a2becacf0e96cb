"""Runs another method of a model in place of its forward: `--method encode`."""

from __future__ import annotations

from torch import nn

from hookcli.errors import RequestError
from hookcli.sentences import missing_name
from hookcli.text import nearest, try_instead


def run_method(root: nn.Module, name: str) -> None:
    """Let a call of the model run this method; hooks fire as for forward.

    The instance gets the method as its `forward`, which comes before that of its class.

    Raises
    ------
    RequestError : the model has no such method.
    """
    method = getattr(root, name, None)
    if not callable(method) or isinstance(method, nn.Module | type):
        kind = type(root)
        own = [key for key in dir(kind) if not key.startswith("_") and not hasattr(nn.Module, key)]
        methods = [key for key in own if callable(getattr(kind, key, None))]
        listed = f"choose from {', '.join(methods[:6])}" if methods else "omit `--method`"
        raise RequestError(
            missing_name(name, kind.__name__),
            place=f"--method {name}",
            hint=try_instead(nearest(name, methods), listed),
        )
    vars(root)["forward"] = method


def ran_instead(name: str) -> str:
    """Return the note about a method that ran in place of forward."""
    return f"{name} ran in place of forward: layers that it does not call were not run"
