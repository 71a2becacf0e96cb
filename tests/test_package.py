"""The packages that are published: built, installed in an empty environment, and run there."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from hookcli import __version__
from tests.conftest import ROOT

MODEL = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)

    def forward(self, x):
        return self.layer(x)
"""
PACKAGES = {"wheel": "hookcli-*.whl", "sdist": "hookcli-*.tar.gz"}


def run(*command: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONPATH")}
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**kept, "PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packages")
    built = run(sys.executable, "-m", "build", "-o", folder, ROOT, cwd=folder)
    assert built.returncode == 0, built.stdout[-2000:] + built.stderr[-2000:]
    return folder


def test_packages_have_what_they_need_and_nothing_else(packages):
    (wheel,) = packages.glob(PACKAGES["wheel"])
    (sdist,) = packages.glob(PACKAGES["sdist"])
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {
        "hookcli", f"hookcli-{__version__}.dist-info",
    }  # fmt: skip
    assert "hookcli/py.typed" in names
    with tarfile.open(sdist) as archive:
        names += archive.getnames()
    assert not [name for name in names if "__pycache__" in name or "/.venv/" in name]


@pytest.mark.slow
@pytest.mark.parametrize("kind", PACKAGES)
def test_an_installed_package_runs_with_and_without_torch(kind, packages, tmp_path):
    (package,) = packages.glob(PACKAGES[kind])
    empty = tmp_path / "empty"
    run(sys.executable, "-m", "venv", empty, cwd=tmp_path)
    constraints = ROOT / "constraints.txt"
    pip = run(empty / "bin" / "pip", "install", "-c", constraints, package, cwd=tmp_path)
    assert pip.returncode == 0, pip.stderr[-2000:]
    command = empty / "bin" / "hookcli"
    (tmp_path / "net.py").write_text(MODEL)

    assert run(command, "--version", cwd=tmp_path).stdout == f"hookcli {__version__}\n"
    assert run(command, "explain", "forward_pre", cwd=tmp_path).returncode == 0
    without = run(command, "inspect", "net.py", cwd=tmp_path)
    assert without.returncode == 2
    assert without.stderr.startswith("error: no Python interpreter with torch was found\n")

    active = run(command, "inspect", "net.py", cwd=tmp_path, VIRTUAL_ENV=sys.prefix)
    assert active.returncode == 0, active.stderr
    assert "layer (Linear)" in active.stdout
    assert sys.prefix in active.stdout  # whose torch it is

    (site,) = (empty / "lib").glob("python3.*/site-packages")
    (site / "torch_of_the_tests.pth").write_text(sysconfig.get_paths()["purelib"])
    beside = run(command, "inspect", "net.py", cwd=tmp_path)
    assert beside.returncode == 0, beside.stderr
    assert "layer (Linear)" in beside.stdout
    assert "VIRTUAL_ENV" not in beside.stdout
