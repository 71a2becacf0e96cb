"""Reads what a drawing shows: its elements with their absolute places."""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree import ElementTree

from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.report.training import TrainingReport

NAMESPACE = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Element:
    """An element of a drawing; `dx` and `dy` are those of the groups around it."""

    tag: str
    attributes: dict
    text: str
    tip: str
    dx: float
    dy: float

    @property
    def classes(self):
        return self.attributes.get("class", "").split()

    @property
    def x(self):
        return float(self.attributes.get("x", 0)) + self.dx

    @property
    def y(self):
        return float(self.attributes.get("y", 0)) + self.dy

    @property
    def right(self):
        return self.x + float(self.attributes["width"])

    @property
    def bottom(self):
        return self.y + float(self.attributes["height"])

    def contains(self, other):
        return (
            self.x <= other.x
            and other.right <= self.right
            and self.y <= other.y
            and other.bottom <= self.bottom
        )

    def overlaps(self, other):
        return (
            self.x < other.right
            and other.x < self.right
            and self.y < other.bottom
            and other.y < self.bottom
        )


@dataclass(frozen=True)
class Picture:
    """A drawing that was read, and its size."""

    source: str
    elements: list
    width: float
    height: float

    def rects(self, name):
        return [e for e in self.elements if e.tag == "rect" and name in e.classes]

    def texts(self, name=""):
        return [e for e in self.elements if e.tag == "text" and (not name or name in e.classes)]

    def words(self):
        return [e.text for e in self.texts()]

    def text(self, wanted):
        return next(e for e in self.texts() if e.text == wanted)

    def tipped(self, start):
        """The first rectangle whose tooltip begins so."""
        return next(e for e in self.elements if e.tag == "rect" and e.tip.startswith(start))

    def lines(self, name="edge"):
        """Points of paths: all numbers that follow a command, as absolute (x, y) ends."""
        return [e for e in self.elements if e.tag == "path" and name in e.classes]


def ends(line):
    """The first and the last point of a path of absolute M, L, V, H, C and Q commands."""
    x = y = 0.0
    first = None
    for command, numbers in re.findall(r"([MLVHCQ])([^MLVHCQ]*)", line.attributes["d"]):
        values = [float(n) for n in numbers.split()]
        if command == "V":
            y = values[-1]
        elif command == "H":
            x = values[-1]
        else:
            x, y = values[-2], values[-1]
        first = first or (x, y)
    return (
        (first[0] + line.dx, first[1] + line.dy),
        (x + line.dx, y + line.dy),
    )


def parse(source):
    root = ElementTree.fromstring(source)
    elements = []

    def walk(node, dx, dy):
        tag = node.tag.removeprefix(NAMESPACE)
        if tag in {"defs", "style"}:
            return
        if moved := re.match(r"translate\((\S+) (\S+)\)", node.get("transform", "")):
            dx, dy = dx + float(moved[1]), dy + float(moved[2])
        title = node.find(f"{NAMESPACE}title")
        tip = "" if title is None else title.text or ""
        text = "".join([node.text or "", *(child.tail or "" for child in node)]).strip()
        elements.append(Element(tag, node.attrib, text, tip, dx, dy))
        for child in node:
            walk(child, dx, dy)

    for child in root:
        walk(child, 0.0, 0.0)
    return Picture(source, elements, float(root.get("width")), float(root.get("height")))


def render(report, **view):
    if isinstance(report, TrainingReport):
        return FORMATS["svg"].render(report, View(**view))
    return FORMATS["svg"].render(report, View(**view))


def picture(report, **view):
    return parse(render(report, **view))
