"""The repository contains what people expect, and nothing that a test or a tool left."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.left_files import ROOT, untracked

AT_THE_TOP = {
    ".ci", ".github", ".gitignore", ".pre-commit-config.yaml", ".pre-commit-hooks.yaml",
    "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "SECURITY.md",
    "action.yml", "benchmarks", "constraints.txt", "docs", "hookcli", "mkdocs.yml",
    "pyproject.toml", "sample_models", "tests",
}  # fmt: skip
SUFFIXES = {
    ".css", ".j2", ".js", ".json", ".md", ".png", ".py", ".svg", ".toml", ".txt", ".typed",
    ".yaml", ".yml",
}  # fmt: skip
WITHOUT_SUFFIX = {".ci/run", ".gitignore", "LICENSE", "Makefile"}
LARGEST = 1_000_000  # bytes


def tracked() -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git repository")
    return [path for name in done.stdout.split("\0") if name and (path := Path(name))]


def test_the_top_level_holds_only_what_people_expect():
    assert {path.parts[0] for path in tracked()} <= AT_THE_TOP


def test_no_output_is_committed():
    odd = [
        str(path)
        for path in tracked()
        if path.suffix not in SUFFIXES
        and str(path) not in WITHOUT_SUFFIX
        and not path.name.endswith("-LICENSE")
    ]
    assert odd == []


def test_no_file_is_large():
    sizes = {path: (ROOT / path).stat().st_size for path in tracked() if (ROOT / path).is_file()}
    assert {path: size for path, size in sizes.items() if size > LARGEST} == {}


@pytest.mark.skipif(shutil.which("git") is None, reason="requires git")
@pytest.mark.parametrize("writes", ["3", "tests/out.json", "sample_models/new/a.txt", None])
def test_a_session_that_leaves_a_file_fails(tmp_path, writes):
    folder = tmp_path / "repository"
    (folder / "tests").mkdir(parents=True)
    (folder / "sample_models").mkdir()
    shutil.copy(ROOT / "tests" / "left_files.py", folder / "tests")
    (folder / "tests" / "__init__.py").touch()
    (folder / "tests" / "conftest.py").write_text("from .left_files import *\n")
    (folder / "sample_models" / "net.py").touch()
    (folder / ".gitignore").write_text("*.txt\n__pycache__/\n")
    (folder / "tests" / "test_one.py").write_text(
        "from pathlib import Path\n"
        "def test_one():\n"
        f"    path = {writes!r}\n"
        "    if path:\n"
        "        Path(path).parent.mkdir(exist_ok=True)\n"
        "        Path(path).touch()\n"
    )
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    quiet = ["-q", "-p", "no:cacheprovider", "-p", "no:hookcli"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *quiet, "tests"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == (writes is not None), done.stdout
    left = next((name for name in untracked(folder)), None)
    assert left is None if writes is None else f"a test left {left!r}" in done.stdout
