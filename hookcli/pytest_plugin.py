"""The pytest plugin: `hookcli_check(model, "checks.yaml")` fails with what was found.

Importing it imports pytest alone; torch comes with the test that uses it.
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
    """What judges a model: `hookcli_check(model, "checks.yaml")`, as hookcli.check does.

    The test fails with the findings as its message; else the report is given. A file's name is
    looked for beside the test, then in the root folder, then where pytest was started; so is the
    file of a model by name, "net.py:Net".
    """
    folders = (request.path.parent, request.config.rootpath, Path.cwd())

    def hookcli_check(model: Any, config: Any = None, **options: Any) -> CheckedReport:
        __tracebackhide__ = True
        import hookcli
        from hookcli.errors import HookcliError

        if isinstance(config, str | Path):
            config = str(_found(str(config), folders))
        if isinstance(model, str):
            model = _source(model, folders)
        try:
            report = hookcli.check(model, config, **options)
            failure = "" if report.passed else report.message()
        except HookcliError as error:
            failure = _said(error)
        if failure:
            pytest.fail(failure, pytrace=False)
        return report

    return hookcli_check


def _found(name: str, folders: tuple[Path, ...]) -> Path:
    """The first file of this name; the name itself where there is none."""
    return next((f / name for f in folders if (f / name).is_file()), Path(name))


def _source(text: str, folders: tuple[Path, ...]) -> str:
    """A model's source, with its file found."""
    if _found(text, folders).is_file():
        return str(_found(text, folders))
    path, colon, attr = text.rpartition(":")
    return f"{_found(path, folders)}{colon}{attr}" if colon else text


def _said(error: Any) -> str:
    """The three lines of an error; of a configuration all of its problems."""
    problems = getattr(error, "problems", (error,))
    return "\n".join(
        line
        for problem in problems
        for line in (f"error: {problem.message}", f"  --> {problem.place}", f"hint: {problem.hint}")
    )
