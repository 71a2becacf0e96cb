"""The pictures in docs/guides/pictures.md are those of a run of today. UPDATE_DOCS=1 draws them."""

from __future__ import annotations

import math
import re

import pytest

from tests.conftest import ROOT, run_cli
from tests.docs.generated import UPDATE
from tests.docs.markdown import DOCS

PAGE = DOCS / "guides" / "pictures.md"
_ID = re.compile(r"hookcli-[0-9a-f]{8}-")  # made from the content
_NUMBER = re.compile(r"#[0-9a-f]{6}\b|-?\d+(?:\.\d+)?(?:e-?\d+)?")


def commands():
    """The commands of the page that write a picture, by its name."""
    lines = re.findall(r"^\$ hookcli (.* -f svg=(\w+\.svg))$", PAGE.read_text(), re.MULTILINE)
    return {name: command for command, name in lines}


def alike(a, b):
    """Figures may differ by rounding, as between processors: places by a pixel, colours by 3."""
    if a == b:
        return True
    if a.startswith("#") or b.startswith("#"):
        channels = [(int(a[i : i + 2], 16), int(b[i : i + 2], 16)) for i in (1, 3, 5)]
        return all(abs(one - other) <= 3 for one, other in channels)
    return math.isclose(float(a), float(b), rel_tol=2e-3, abs_tol=1)


@pytest.mark.parametrize("name", ["modules.svg", "gradients.svg"])
def test_a_picture_is_that_of_the_command_on_the_page(name, tmp_path):
    file = tmp_path / name
    words = commands()[name].replace(f"svg={name}", f"svg={file}").split()
    done = run_cli(*words, cwd=ROOT)
    assert done.status == 0, done.err
    drawn, shown = file.read_text(), DOCS / "assets" / name
    if UPDATE:
        shown.write_text(drawn)
    texts = [_ID.sub("", text) for text in (drawn, shown.read_text())]
    assert _NUMBER.sub("0", texts[0]) == _NUMBER.sub("0", texts[1])
    numbers = [_NUMBER.findall(text) for text in texts]
    assert all(alike(a, b) for a, b in zip(*numbers, strict=True))
