"""The pre-commit hook, by pre-commit itself in a repository of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import HEAD, ROOT

MANIFEST = ROOT / ".pre-commit-hooks.yaml"
HOOKS = {hook["id"]: hook for hook in yaml.safe_load(MANIFEST.read_text())}
GOOD = "example_inputs = torch.ones(2, 4)\nclass Net(nn.Linear):\n    pass\nmodel = Net(4, 2)\n"
BAD = GOOD + "with torch.no_grad():\n    model.weight.fill_(float('nan'))\n"

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None, reason="pre-commit and these tests need git"
)


def run(*command, cwd, home, status=0):
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={
            **{k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "GITHUB_"))},
            "PRE_COMMIT_HOME": str(home),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t",
            "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@t",
        },
        capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def project(tmp_path):
    """A repository with a model, whose hook comes from a repository with our manifest."""
    ours, home, project = tmp_path / "hookcli", tmp_path / "home", tmp_path / "project"
    for folder in (ours, project):
        folder.mkdir()
        run("git", "init", "-q", cwd=folder, home=home)
    shutil.copy(MANIFEST, ours)
    run("git", "add", ".", cwd=ours, home=home)
    run("git", "commit", "-qm", "x", cwd=ours, home=home)
    rev = run("git", "rev-parse", "HEAD", cwd=ours, home=home).strip()
    hook = {"id": "hookcli-check", "args": ["model.py"]}
    config = {"repos": [{"repo": str(ours), "rev": rev, "hooks": [hook]}]}
    (project / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))

    def commit(source, name="model.py", only=None, status=0):
        (project / name).write_text(source)
        run("git", "add", ".", cwd=project, home=home)
        files = [] if only is None else ["--files", only]
        return run(sys.executable, "-m", "pre_commit", "run", "--color", "never", *files,
                   cwd=project, home=home, status=status)  # fmt: skip

    return commit


def test_the_manifest_is_valid(tmp_path):
    run(sys.executable, "-m", "pre_commit", "validate-manifest", MANIFEST, cwd=ROOT, home=tmp_path)


def test_a_good_model_passes_and_a_bad_one_is_held_back(project):
    assert "Passed" in project(HEAD + GOOD)
    said = project(HEAD + BAD, status=1)
    flat = " ".join(said.split())
    assert "the parameter weight contains 8 NaN in 8 elements" in flat
    assert "FAILED: 1 failed" in said


def test_it_runs_where_code_or_configuration_changed_and_not_else(project):
    for name in ("model.py", "checks.yaml"):
        assert "Passed" in project(HEAD + GOOD if name == "model.py" else "{}", name=name)
    assert "no files to check" in project("words", name="README.md", only="README.md")


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_s_entry_runs_as_pre_commit_would_run_it(name, tmp_path):
    hook = HOOKS[name]
    assert hook["pass_filenames"] is False
    (tmp_path / "model.py").write_text(HEAD + GOOD)
    said = run(*hook["entry"].split(), "model.py", cwd=tmp_path, home=tmp_path)
    assert "PASSED" in said
    assert "missing MODEL" in run(*hook["entry"].split(), cwd=tmp_path, home=tmp_path, status=2)


def test_the_entry_is_a_script_that_the_package_installs():
    text = (ROOT / "pyproject.toml").read_text()
    for hook in HOOKS.values():
        assert f'{hook["entry"].split()[0]} = "hookcli.__main__:main"' in text
    assert {hook["language"] for hook in HOOKS.values()} == {"system", "python"}
