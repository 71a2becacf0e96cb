"""The pytest plugin: the fixture `hookcli_check`, which fails a test with hookcli's findings.

Importing the plugin imports pytest only. A test that uses the fixture imports torch.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from hookcli.api.check import CheckedReport


@pytest.fixture
def hookcli_check(request: pytest.FixtureRequest) -> Callable[..., CheckedReport]:
    """Return a function that checks a model: `hookcli_check(model, "checks.yaml")`.

    It takes the arguments of `hookcli.check` and returns its report. If a check fails, the test
    fails with the findings as its message. The names of configuration files, and of the file of a
    model by name ("net.py:Net"), are searched in the folder of the test, then in pytest's root
    folder, then in the working directory.

    Examples
    --------
    >>> def test_net(hookcli_check):
    ...     hookcli_check(Net(), "checks.yaml", inputs=torch.randn(2, 3))
    """
    folders = (request.path.parent, request.config.rootpath, Path.cwd())

    def hookcli_check(model: Any, config: Any = None, **options: Any) -> CheckedReport:
        __tracebackhide__ = True
        import hookcli
        from hookcli.errors import HookcliError

        if isinstance(config, str | Path):
            config = str(_find(str(config), folders))
        if isinstance(model, str):
            model = _source(model, folders)
        try:
            report = hookcli.check(model, config, **options)
            failure = "" if report.passed else report.message()
        except HookcliError as error:
            failure = _lines(error)
        if failure:
            pytest.fail(failure, pytrace=False)
        return report

    return hookcli_check


def _find(name: str, folders: tuple[Path, ...]) -> Path:
    """Return the first file of this name in these folders; the name itself if there is none."""
    return next((f / name for f in folders if (f / name).is_file()), Path(name))


def _source(text: str, folders: tuple[Path, ...]) -> str:
    """Return a model's source with the path of its file in these folders."""
    if _find(text, folders).is_file():
        return str(_find(text, folders))
    path, colon, attr = text.rpartition(":")
    return f"{_find(path, folders)}{colon}{attr}" if colon else text


def _lines(error: Any) -> str:
    """Return the three lines of an error; for a configuration those of all its problems."""
    from hookcli.console import escape

    problems = getattr(error, "problems", (error,))
    return "\n".join(
        escape(line)
        for problem in problems
        for line in (f"error: {problem.message}", f"  --> {problem.place}", f"hint: {problem.hint}")
    )
