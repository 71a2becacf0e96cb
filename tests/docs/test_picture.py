"""The picture at the top of README.md is of a run of today. UPDATE_DOCS=1 draws it."""

from __future__ import annotations

import re
import shlex
from xml.etree import ElementTree

from tests.conftest import ROOT, run_cli
from tests.docs import console
from tests.docs.generated import check_page
from tests.docs.markdown import DOCS, blocks
from tests.docs.picture import picture

PICTURE = DOCS / "assets" / "terminal.svg"
WIDTH = 92


def command():
    """The first command of README.md."""
    readme = blocks((ROOT / "README.md").read_text())
    first = next(block for block in readme if block.language == "console")
    return console.entries(first.lines)[0].line


def test_the_picture_is_of_the_first_command_of_the_readme():
    _, *words = shlex.split(command())
    done = run_cli(*words, "--color", "always", cwd=ROOT, COLUMNS=str(WIDTH))
    assert done.status == 0, done.err
    check_page(PICTURE, picture(command(), done.out.rstrip("\n"), WIDTH))


def test_the_picture_fetches_nothing_and_is_xml():
    text = PICTURE.read_text()
    ElementTree.fromstring(text)
    assert set(re.findall(r"https?://[^\"'\s)]+", text)) == {"http://www.w3.org/2000/svg"}
