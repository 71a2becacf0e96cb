"""Inspect PyTorch models: every layer's shapes, gradients and hooks, as they really happened.

>>> import hookcli
>>> report = hookcli.inspect(model, (torch.randn(2, 3),))  # doctest: +SKIP
>>> print(report)  # doctest: +SKIP

Importing `hookcli` imports neither torch nor anything else that is slow. With `python -m hookcli`
the working folder is first on sys.path meanwhile, so it imports nothing at all.
"""

TYPE_CHECKING = False  # as type checkers know it, without the time to import typing

__all__ = [
    "__version__",
    "attach",
    "check",
    "diff",
    "grads",
    "inspect",
    "list_hooks",
    "remove_hooks",
    "trace",
]

if TYPE_CHECKING:
    from hookcli._version import __version__
    from hookcli.api.api import attach, grads, inspect, trace
    from hookcli.api.check import check
    from hookcli.api.diff import diff
    from hookcli.api.existing import list_hooks, remove_hooks


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    if name == "__version__":
        from hookcli import _version

        return _version.__version__
    if name == "check":
        from hookcli.api import check as api_check

        return api_check.check
    if name == "diff":
        from hookcli.api import diff as api_diff

        return api_diff.diff
    if name in {"list_hooks", "remove_hooks"}:
        from hookcli.api import existing

        return getattr(existing, name)
    if name in {"attach", "grads", "inspect", "trace"}:
        from hookcli.api import api

        return getattr(api, name)
    raise AttributeError(f"module 'hookcli' has no attribute {name!r}")
