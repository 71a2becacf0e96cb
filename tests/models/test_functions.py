"""Functions that a configuration names, and what it says if there is none."""

from __future__ import annotations

import math

import pytest
import torch

from hookcli.errors import ModelError, RequestError
from hookcli.models import places
from hookcli.models.python.functions import function_of

FILE = """\
def half(x):
    return x / 2

class Tools:
    @staticmethod
    def double(x):
        return 2 * x

LIMIT = 3
_private = half
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "START", tmp_path)
    (tmp_path / "own.py").write_text(FILE)
    (tmp_path / "broken.py").write_text("import a_package_that_nobody_has\n")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "broken_package").mkdir()
    (tmp_path / "broken_package" / "__init__.py").write_text("raise OSError('no licence')\n")
    return tmp_path


def test_a_function_of_a_file_a_package_or_torch(folder):
    assert function_of("own.py:half", "c.yaml:1")(4) == 2
    assert function_of("own.py:Tools.double", "c.yaml:1")(4) == 8
    assert function_of("math:sqrt", "c.yaml:1") is math.sqrt
    operator = function_of("torch.ops.aten.add", "c.yaml:1")
    assert operator is torch.ops.aten.add
    assert function_of("torch.ops.aten.add.Tensor", "c.yaml:1") is torch.ops.aten.add.Tensor


@pytest.mark.parametrize(
    ("reference", "message", "hint"),
    [
        ("half", "'half' does not name a function", "write `file.py:name`"),
        ("own.py:", "'own.py:' does not name a function", "write `file.py:name`"),
        ("own.py:haf", "'haf' not found in own.py", "`half`"),
        ("own.py:Tools.nothing_near", "'nothing_near' not found in own.py", "name a function"),
        ("own.py:LIMIT", "own.py:LIMIT must be a function, got int", "name a function"),
        ("absent.py:half", "absent.py", ""),
        ("a_package_that_nobody_has.sub:f", "a_package_that_nobody_has", "is installed"),
        ("torch.ops.aten.no_such_one", "unknown operator 'aten::no_such_one'", ""),
        ("torch.ops.aten.add.NoOverload", "unknown operator 'aten::add.NoOverload'", ""),
    ],
)
def test_a_reference_that_names_no_function_is_refused(folder, reference, message, hint):
    with pytest.raises(RequestError) as caught:
        function_of(reference, "c.yaml:1")
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.place.startswith("c.yaml:1")


def test_a_package_that_cannot_be_imported_tells_its_own_error(folder):
    with pytest.raises(ModelError, match=r"OSError: no licence") as caught:
        function_of("broken_package:f", "c.yaml:1")
    assert "no licence" in caught.value.details
    with pytest.raises(ModelError, match="a_package_that_nobody_has"):
        function_of("broken.py:f", "c.yaml:1")
