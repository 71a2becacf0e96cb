"""What all drawings have in common: text, colours, ids."""

from __future__ import annotations

import re

import pytest

from hookcli.formats.svg.drawing import Drawing, clean, fitting, text_width
from tests.formats.svg.read_svg import parse

TEXTS = ("ink", "muted", "wrong", "mind", "good")
# The grounds on which these are written.
GROUNDS = {
    "bg": TEXTS,
    "group": ("ink", "muted"),
    "group2": ("ink", "muted"),
    "box": ("ink", "muted"),
    "learns": ("ink", "muted"),
    "failed": ("ink", "muted"),
    "pill": ("ink",),
    "wrongfill": ("onfill",),
    "mindfill": ("onfill",),
}


def colors(dark):
    """The fill of each class, as the style block has it."""
    style = re.search(r"<style>(.*)</style>", Drawing().render(10, 10, "x"), re.DOTALL)[1]
    light, _, after = style.partition("@media (prefers-color-scheme:dark)")
    rules = re.findall(r"\.hookcli \.(\w+)\{fill:(#[0-9a-f]{6})\}", after if dark else light)
    return dict(rules)


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("dark", [False, True])
def test_text_has_the_contrast_that_wcag_asks_for(dark):
    fill = colors(dark)
    for ground, texts in GROUNDS.items():
        for text in texts:
            low, high = sorted((luminance(fill[ground]), luminance(fill[text])))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (ground, text)


def test_light_and_dark_have_the_same_classes():
    assert colors(dark=False).keys() == colors(dark=True).keys()


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a<b&c>\"d'", "a&lt;b&amp;c&gt;&quot;d'"),
        ("\x00\x1b\ufffe\ud800", "\\x00\\x1b\\ufffe\\ud800"),
        ("\u202e", "\\u202e"),
        ("é 漢", "é 漢"),
    ],
)
def test_text_is_escaped(text, written):
    assert clean(text) == written


def test_a_drawing_is_ascii_whatever_its_text():
    drawing = Drawing()
    drawing.text(0, 0, "é 漢 … ×", "ink")
    source = drawing.render(100, 100, "è")
    assert source.isascii()
    assert parse(source).words() == ["é 漢 … ×"]


def test_text_is_cut_in_its_middle_to_fit():
    text = fitting("abcdefghijklmnopqrstuvwxyz", 80, 10)
    assert text_width(text, 10) <= 80
    assert text.startswith("abc")
    assert text.endswith("xyz")
    assert "…" in text


def test_ids_are_of_the_drawing_and_nothing_of_its_text_is_changed():
    drawing = Drawing()
    reference = drawing.define("dots", "pattern", ">")
    drawing.rect(0, 0, 5, 5, more=f'fill="{reference}"')
    drawing.text(0, 0, "url(#dots) id=dots", "ink")
    source = drawing.render(10, 10, "x")
    [name] = re.findall(r'<pattern id="([^"]+)"', source)
    assert name != "dots"
    assert f'fill="url(#{name})"' in source
    assert "url(#dots) id=dots" in parse(source).words()
