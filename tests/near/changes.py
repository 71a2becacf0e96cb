"""What differs from the last commit: files, and of files of the package the functions."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import defaultdict
from pathlib import Path

from tests.near.marks import functions

_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")


def changed_lines(root: Path) -> dict[str, set[int]]:
    """Return the lines of each changed file; those around what was removed, none of a new file."""
    command = ["git", "diff", "HEAD", "--unified=0", "--no-renames", "--no-color", "--no-ext-diff"]
    lines: dict[str, set[int]] = defaultdict(set)
    path = old = ""
    for row in _git(root, *command).splitlines():
        if row.startswith("--- "):
            old = row[6:]
        elif row.startswith("+++ "):
            path = old if row[4:] == "/dev/null" else row[6:]
            lines[path] |= set()
        elif hunk := _HUNK.match(row):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            lines[path] |= {*range(first, first + count)} if count else {first, first + 1}
    for path in _git(root, "git", "ls-files", "--others", "--exclude-standard", "-z").split("\0"):
        if path:
            lines[path] = set()
    return dict(lines)


def changed_functions(text: str, lines: set[int]) -> set[str]:
    """Return the innermost function of each line, "" for a line outside of functions."""
    try:
        found = functions(ast.parse(text))
    except SyntaxError:
        return {""}
    return {
        next(
            (
                name
                for name, node in reversed(found)  # inner functions follow their outer one
                if _first(node) <= line <= (node.end_lineno or 0)
            ),
            "",
        )
        for line in lines
    } or {""}


def _first(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def _git(root: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return done.stdout
