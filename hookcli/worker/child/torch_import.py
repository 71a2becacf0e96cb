"""Imports torch in the child, whose environment may have none, an old one or a broken one."""

from __future__ import annotations

import shlex
import sys
import traceback
from types import ModuleType

from hookcli.errors import HookcliError, ModelError, RequestError, is_own
from hookcli.interpreters.names import install_command
from hookcli.sentences import cannot_import, needs_torch
from hookcli.spec.request import Interpreter
from hookcli.text import first_line
from hookcli.torch_private import OLDEST, as_numbers


def import_torch() -> None:
    """Import torch.

    Raises
    ------
    RequestError : it is not installed, or too old, or another module has its name.
    ModelError : its import failed.
    """
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise _broken(error) from None
        raise RequestError(
            f"torch is not installed for Python {sys.version.split()[0]}",
            place=sys.executable,
            hint=f"run `{install_command(sys.executable, 'torch')}`, or pass `--python PATH`",
        ) from None
    except BaseException as error:  # noqa: BLE001  # torch runs code of other packages too
        raise _broken(error) from None
    _check_version(torch)


def _check_version(torch: ModuleType) -> None:
    version = getattr(torch, "__version__", None)
    if not isinstance(version, str):
        where = torch.__file__ or next(iter(torch.__path__))
        raise RequestError(
            f"{where} is not PyTorch, but its name is torch",
            place=sys.executable,
            hint="rename it, or remove its folder from PYTHONPATH",
        )
    if as_numbers(version) < as_numbers(OLDEST):
        command = install_command(sys.executable, shlex.quote(f"torch>={OLDEST}"))
        raise RequestError(
            needs_torch("hookcli", OLDEST, version),
            place=sys.executable,
            hint=f"run `{command}`, or pass `--python PATH`",
        )


def _broken(error: BaseException) -> ModelError:
    python = shlex.quote(sys.executable)
    return ModelError(
        cannot_import("torch", f"{type(error).__name__}: {first_line(str(error))}"),
        place=sys.executable,
        hint=f"run `{python} -c 'import torch'` to see more",
        details="".join(traceback.format_exception(error)),
    )


def placed(error: BaseException, python: Interpreter | None) -> BaseException:
    """Return an error of `import_torch` with the place that named the interpreter."""
    if python is not None and is_own(error) and isinstance(error, HookcliError):
        error.place = python.place
    return error
