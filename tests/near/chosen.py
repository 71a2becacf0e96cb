"""A plugin of pytest that runs the chosen tests in their order, until their time is over.

`HOOKCLI_TEST_CHOSEN` names a file with the choice as JSON: tests, files and folders, and when their
time is over.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

_choice = json.loads(Path(os.environ["HOOKCLI_TEST_CHOSEN"]).read_text())
_rank = {name: number for number, name in enumerate(_choice["tests"])}


def rank(nodeid: str) -> int | None:
    """The place of a test in the order: its own, or that of its file or folder."""
    test, _, _ = nodeid.partition("[")
    path = Path(nodeid.partition("::")[0])
    for name in (nodeid, test, str(path), *map(str, path.parents)):
        if name in _rank:
            return _rank[name]
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the chosen tests, in their order."""
    ranks = {id(item): rank(item.nodeid) for item in items}
    others = [item for item in items if ranks[id(item)] is None]
    items[:] = sorted(
        (item for item in items if ranks[id(item)] is not None), key=lambda one: ranks[id(one)]
    )
    config.hook.pytest_deselected(items=others)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Skip what is left when the time is over."""
    if time.time() > _choice["until"]:
        pytest.skip("the time of `make near` is over")
