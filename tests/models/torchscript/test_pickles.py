"""Pickles of TorchScript files that declare more than they contain: torch would allocate it."""

from __future__ import annotations

import io
import zipfile

import pytest
import torch
from torch import nn

from hookcli.models.torchscript.load import check_pickles, excess_of
from tests.conftest import run_cli

LARGE = b"r\x00\x00\x00\x7f"  # LONG_BINPUT
TEXTS = [b"X\x00\x00\x00\xf0", b"T\x00\x00\x00\x7f", b"\x8d" + bytes(5) + b"\x01\x00\x00"]


@pytest.fixture(scope="module", params=["scripted", "traced"])
def pickles(request):
    model = nn.Sequential(*(nn.Sequential(nn.Linear(8, 8), nn.GELU()) for _ in range(90)))
    scripted = request.param == "scripted"
    made = torch.jit.script(model) if scripted else torch.jit.trace(model, torch.ones(2, 8))
    file = io.BytesIO()
    torch.jit.save(made, file)
    with zipfile.ZipFile(file) as archive:
        check_pickles(archive)
        names = [name for name in archive.namelist() if name.endswith("pkl")]
        return {name: archive.read(name) for name in names}


def test_what_torch_writes_is_read_to_its_end(pickles):
    assert len(pickles) > 4
    for name, data in pickles.items():
        assert excess_of(data) is None, name
        assert data.endswith(b".")
        for more in (LARGE, *TEXTS):
            assert excess_of(data[:-1] + more + b".") is not None, name


@pytest.mark.parametrize(
    ("more", "declared"),
    [(LARGE, "2,130,706,432 entries"), (TEXTS[0], "a string of 4,026,531,840 bytes")],
)
def test_a_file_that_would_take_all_memory_is_refused(more, declared, tmp_path):
    torch.jit.script(nn.Linear(2, 2)).save(str(tmp_path / "good.pt"))
    with (
        zipfile.ZipFile(tmp_path / "good.pt") as old,
        zipfile.ZipFile(tmp_path / "bad.pt", "w") as new,
    ):
        members = {name: old.read(name) for name in old.namelist()}
        bad = members["good/data.pkl"] = members["good/data.pkl"][:-1] + more + b"."
        for name, data in members.items():
            new.writestr(name, data)
    result = run_cli("inspect", "bad.pt", "-i", "2x2", cwd=tmp_path)
    assert (result.status, result.out) == (3, "")
    assert result.err.splitlines() == [
        f"error: cannot read bad.pt: good/data.pkl declares {declared} in {len(bad)} bytes",
        "  --> bad.pt",
        "hint: check that the file is complete, then download or save it again",
    ]
