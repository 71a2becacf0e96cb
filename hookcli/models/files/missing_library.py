"""Libraries that torch does not need, and that the environment of a model may therefore lack."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence

from hookcli.errors import RequestError
from hookcli.interpreters.names import distribution_of, install_command


def missing_library(what: str, module: str, place: str) -> RequestError:
    """Return the error for work that requires a library; `module` is one that was not found."""
    package = distribution_of(module)
    return RequestError(
        f"{what} requires {package}, which is not installed for {sys.executable}",
        place=place,
        hint=f"run `{install_command(sys.executable, package)}`",
    )


def require_libraries(what: str, names: Sequence[str], place: str) -> None:
    """Check that libraries are installed, before anything is written.

    Raises
    ------
    RequestError : one of them is not.
    """
    for name in names:
        loaded = name in sys.modules
        if (sys.modules[name] if loaded else importlib.util.find_spec(name)) is None:
            raise missing_library(what, name, place)
