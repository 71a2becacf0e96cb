"""The picture at the top of README.md is of a run of today. UPDATE_DOCS=1 draws it."""

from __future__ import annotations

import re
import shlex
from xml.etree import ElementTree

from tests.conftest import ROOT, run_cli
from tests.docs.generated import check_page
from tests.docs.markdown import DOCS
from tests.docs.picture import picture

PICTURE = DOCS / "assets" / "terminal.svg"
README = ROOT / "README.md"
WIDTH = 92


def command():
    """The command that README.md gives as the picture's text."""
    return re.search(r"!\[\$ ([^\]]+)\]\(docs/assets/terminal\.svg\)", README.read_text())[1]


def test_the_picture_is_of_the_command_that_the_readme_names():
    _, *words = shlex.split(command())
    done = run_cli(*words, "--color", "always", cwd=ROOT, COLUMNS=str(WIDTH))
    assert done.status == 0, done.err
    check_page(PICTURE, picture(command(), done.out.rstrip("\n"), WIDTH))


def test_the_picture_fetches_nothing_and_is_xml():
    text = PICTURE.read_text()
    ElementTree.fromstring(text)
    assert set(re.findall(r"https?://[^\"'\s)]+", text)) == {"http://www.w3.org/2000/svg"}
