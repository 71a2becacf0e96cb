"""Chooses the tests of what has changed, those first that find a defect soonest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.near.changes import changed_functions
from tests.near.map import Map, ranked

EXAMPLES = "tests/docs/test_examples.py::test_console_blocks_show_what_comes_out"


def choose(root: Path, lines: dict[str, set[int]], known: Map) -> list[str]:
    """Return names of tests, or files and folders of tests: of tests that changed, then the others.

    Where the map does not know what changed, the tests of the same folder follow.
    """
    first, tests, folders = [], set(), []
    for path, numbers in sorted(lines.items()):
        parts = Path(path).parts
        if parts[0] == "tests":
            first += _changed_tests(root, path)
        elif parts[0] == "hookcli":
            reached = [*_reaching(root, path, numbers, known)]
            tests.update(*reached)
            if not all(reached):
                folders += _beside(root, path)
        elif path == "README.md" or parts[0] == "docs":
            first += [f"{EXAMPLES}[{path}]", "tests/docs/test_links.py"]
    return [*dict.fromkeys([*first, *ranked(tests, known.seconds), *folders])]


def _reaching(root: Path, path: str, lines: set[int], known: Map) -> Iterator[list[str]]:
    """Return the tests of each function that changed: of all in the file, if it is a constant."""
    file = root / path
    of_file = {name for name in known.tests if name.startswith(f"{path}::")}
    changed = {""}
    if path.endswith(".py") and file.exists() and lines:
        changed = {
            name and f"{path}::{name}" for name in changed_functions(file.read_text(), lines)
        }
    for name in sorted(changed):
        asked = [name] if name in of_file else sorted(of_file)
        yield ranked({test for one in asked for test in known.tests[one]}, known.seconds)


def _beside(root: Path, path: str) -> list[str]:
    """Return the tests of the same name, and the folder of the tests of a file's folder."""
    parts = Path(path).parts[1:]
    for depth in range(len(parts) - 1, 0, -1):
        folder = Path("tests", *parts[:depth])
        if (root / folder).is_dir():
            named = folder / f"test_{Path(path).stem}.py"
            return [str(one) for one in (named, folder) if (root / one).exists()]
    named = Path("tests", f"test_{Path(path).stem}.py")
    return [str(named)] if (root / named).exists() else []


def _changed_tests(root: Path, path: str) -> list[str]:
    """Return the file, if it has tests; else the folder of what they use."""
    file = Path(path)
    if not (root / file).exists() or (file.parent == Path("tests") and not file.match("test_*.py")):
        return []
    if file.match("test_*.py"):
        return [path]
    return [str(file.parent)] if file.suffix == ".py" else []
