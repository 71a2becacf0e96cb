"""Places boxes in layers from top to bottom, and the lines between them, for one container.

The steps are those of Sugiyama, Tagawa and Toda ("Methods for Visual Understanding of Hierarchical
System Structures", 1981): layers by the longest path, order within a layer by barycentres, then
horizontal places near those of the neighbours.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

Link: TypeAlias = tuple[int, int]  # indices of two nodes

GAP = 22  # between neighbours of a layer, in pixels
_SWEEPS = 6
_STRAIGHT = 4.0  # how much more a piece of a long line wants to be straight
_THREAD = 8.0  # the width of a line that passes a layer
_WIDE = 600  # pixels that a line crosses from side to side, from which the gap has most room
_MORE_GAP = 40
_LEAST_CURVE = 16  # pixels of height that a curve needs at least
_LOOP = 18  # pixels between a box and the line that returns to it


@dataclass(frozen=True, slots=True)
class LayoutNode:
    """A box to place. Offsets are from its left edge: lines enter at `enter` and leave at `leave`.

    `reach` is where the text beside its lines ends, if that is beyond the width.
    """

    width: float
    height: float
    enter: float
    leave: float
    reach: float = 0.0

    @property
    def extent(self) -> float:
        """The width with the text beside the box."""
        return max(self.width, self.reach)


@dataclass(frozen=True, slots=True)
class Route:
    """A line: points (x, top, bottom) of the layers that it passes, its ends included.

    Between `top` and `bottom` it is vertical, between two points it is a curve. `returns`: it goes
    back to an earlier box, around the boxes at `right`.
    """

    points: tuple[tuple[float, float, float], ...]
    returns: bool = False
    right: float = 0.0


@dataclass(slots=True)
class Layout:
    """The top left corners of nodes, and the routes of links. `width` and `height` include all."""

    corners: list[tuple[float, float]]
    routes: dict[Link, Route]
    width: float
    height: float


@dataclass(slots=True)
class _Grid:
    """Nodes in layers. Indices from the number of given nodes on are pieces of long lines."""

    nodes: list[LayoutNode]
    level: list[int]
    layers: list[list[int]]
    above: list[list[int]] = field(default_factory=list)
    below: list[list[int]] = field(default_factory=list)
    threads: dict[Link, list[int]] = field(default_factory=dict)


def layout(nodes: Sequence[LayoutNode], links: Iterable[Link], *, gap: float) -> Layout:
    """Place nodes, which are in the order of their first calls.

    A link to the same or an earlier node returns; the others go down. The first node is above all
    others, and the last one below. `gap` is the least distance of two layers.
    """
    every = sorted(set(links))
    down = [(a, b) for a, b in every if a < b]
    grid = _threaded(nodes, down, _levels(len(nodes), down))
    _order(grid)
    left = _places(grid)
    tops, heights = _rows(grid, left, gap)
    corners = [
        (left[i], tops[grid.level[i]] + (heights[grid.level[i]] - node.height) / 2)
        for i, node in enumerate(nodes)
    ]
    routes = {link: _route(grid, link, left, corners, tops, heights) for link in down}
    width = max((left[i] + node.extent for i, node in enumerate(grid.nodes)), default=0.0)
    width = _returns(grid, [link for link in every if link not in routes], corners, routes, width)
    height = tops[-1] + heights[-1] if tops else 0.0
    return Layout(corners, routes, width, height)


def _levels(count: int, down: Sequence[Link]) -> list[int]:
    """Return the layer of each node, the longest path to it; without one, near what it leads to."""
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for a, b in down:
        above[b].append(a)
        below[a].append(b)
    level = [0] * count
    for i in range(1, count):
        level[i] = max((level[a] + 1 for a in above[i]), default=1)
    for i in range(1, count - 1):
        if not above[i] and below[i]:
            level[i] = max(min(level[b] for b in below[i]) - 1, 1)
    if count > 1:
        level[-1] = max([*level[:-1], 0]) + 1
    return level


def _threaded(nodes: Sequence[LayoutNode], down: Sequence[Link], level: list[int]) -> _Grid:
    """Return the nodes in layers, with a thin node wherever a line passes a layer."""
    layers: list[list[int]] = [[] for _ in range(max(level, default=-1) + 1)]
    for i, at in enumerate(level):
        layers[at].append(i)
    grid = _Grid(list(nodes), list(level), layers)
    grid.above = [[] for _ in nodes]
    grid.below = [[] for _ in nodes]
    for a, b in down:
        chain = [a]
        for at in range(level[a] + 1, level[b]):
            grid.nodes.append(LayoutNode(_THREAD, 0.0, _THREAD / 2, _THREAD / 2))
            grid.level.append(at)
            grid.above.append([])
            grid.below.append([])
            thread = len(grid.nodes) - 1
            layers[at].append(thread)
            chain.append(thread)
        chain.append(b)
        for upper, lower in pairwise(chain):
            grid.below[upper].append(lower)
            grid.above[lower].append(upper)
        grid.threads[a, b] = chain[1:-1]
    return grid


def _order(grid: _Grid) -> None:
    """Order each layer by the mean place of its neighbours; keep the order with few crossings."""
    best, fewest = [list(layer) for layer in grid.layers], _crossings(grid)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        downwards = sweep % 2 == 0
        neighbours = grid.above if downwards else grid.below
        layers = grid.layers if downwards else grid.layers[::-1]
        for fixed, free in pairwise(layers):
            place = {node: i for i, node in enumerate(fixed)}
            own = {node: float(i) for i, node in enumerate(free)}
            for node in free:
                if near := neighbours[node]:
                    own[node] = sum(place[other] for other in near) / len(near)
            free.sort(key=own.__getitem__)
        if (crossings := _crossings(grid)) < fewest:
            best, fewest = [list(layer) for layer in grid.layers], crossings
    for layer, ordered in zip(grid.layers, best, strict=True):
        layer[:] = ordered


def _crossings(grid: _Grid) -> int:
    """Return how many pairs of lines between neighbouring layers cross."""
    count = 0
    for upper, lower in pairwise(grid.layers):
        place = {node: i for i, node in enumerate(lower)}
        ends = [end for node in upper for end in sorted(place[b] for b in grid.below[node])]
        seen: list[int] = []
        for end in ends:
            count += len(seen) - bisect_right(seen, end)
            insort(seen, end)
    return count


def _places(grid: _Grid) -> list[float]:
    """Return the left edge of each node: as near to its neighbours as those beside it allow."""
    left = [0.0] * len(grid.nodes)
    for layer in grid.layers:
        x = 0.0
        for node in layer:
            left[node] = x
            x += grid.nodes[node].extent + GAP
    for sweep in range(2 * _SWEEPS):
        downwards = sweep % 2 == 0
        for layer in grid.layers if downwards else grid.layers[::-1]:
            _place_layer(grid, layer, left, downwards=downwards)
    shift = min(left, default=0.0)
    return [x - shift for x in left]


def _place_layer(grid: _Grid, layer: Sequence[int], left: list[float], *, downwards: bool) -> None:
    """Move the nodes of a layer to where their neighbours of the other layer want them."""
    wanted, weights = [], []
    for node in layer:
        near = grid.above[node] if downwards else grid.below[node]
        places, weight = [], 0.0
        for other in near:
            own, its = grid.nodes[node], grid.nodes[other]
            offset = its.leave - own.enter if downwards else its.enter - own.leave
            each = _STRAIGHT if own.width == its.width == _THREAD else 1.0
            places.append((left[other] + offset) * each)
            weight += each
        wanted.append(sum(places) / weight if weight else left[node])
        weights.append(weight or 0.1)
    apart = [grid.nodes[node].extent + GAP for node in layer]
    for node, x in zip(layer, _spread(wanted, weights, apart), strict=True):
        left[node] = x


def _spread(
    wanted: Sequence[float], weights: Sequence[float], apart: Sequence[float]
) -> list[float]:
    """Return places of least weighted squared distance from the wanted ones, each `apart[i]` apart.

    It is an isotonic regression of what is wanted less the distances before it, solved by pooling
    adjacent violators (Ayer and others, 1955).
    """
    offset, offsets = 0.0, []
    for distance in apart:
        offsets.append(offset)
        offset += distance
    pools: list[tuple[float, float, int]] = []  # mean, weight, count
    for want, weight, before in zip(wanted, weights, offsets, strict=True):
        mean, total, count = want - before, weight, 1
        while pools and pools[-1][0] > mean:
            other, more, several = pools.pop()
            mean = (mean * total + other * more) / (total + more)
            total, count = total + more, count + several
        pools.append((mean, total, count))
    means = [mean for mean, _, count in pools for _ in range(count)]
    return [mean + before for mean, before in zip(means, offsets, strict=True)]


def _rows(grid: _Grid, left: Sequence[float], gap: float) -> tuple[list[float], list[float]]:
    """Return the tops and heights of layers; wide curves have higher gaps."""
    tops, heights, y = [], [], 0.0
    for layer in grid.layers:
        heights.append(max((grid.nodes[node].height for node in layer), default=0.0))
        tops.append(y)
        crossed = max(
            (
                abs(left[a] + grid.nodes[a].leave - left[b] - grid.nodes[b].enter)
                for a in layer
                for b in grid.below[a]
            ),
            default=0.0,
        )
        curved = _LEAST_CURVE if crossed >= 1 else 0.0
        y += heights[-1] + gap + curved + _MORE_GAP * min(crossed / _WIDE, 1.0)
    return tops, heights


def _route(
    grid: _Grid,
    link: Link,
    left: Sequence[float],
    corners: Sequence[tuple[float, float]],
    tops: Sequence[float],
    heights: Sequence[float],
) -> Route:
    a, b = link
    first, last = grid.nodes[a], grid.nodes[b]
    from_, to = grid.level[a], grid.level[b]
    points = [(left[a] + first.leave, corners[a][1] + first.height, tops[from_] + heights[from_])]
    for thread in grid.threads[link]:
        at = grid.level[thread]
        points.append((left[thread] + _THREAD / 2, tops[at], tops[at] + heights[at]))
    points.append((left[b] + last.enter, tops[to], corners[b][1]))
    return Route(tuple(points))


def _returns(
    grid: _Grid,
    links: Sequence[Link],
    corners: Sequence[tuple[float, float]],
    routes: dict[Link, Route],
    width: float,
) -> float:
    """Add the routes of lines that return, to the right of all they pass; return the width."""
    for number, (a, b) in enumerate(links):
        passed = [
            left + node.extent
            for (left, _), node, level in zip(corners, grid.nodes, grid.level, strict=False)
            if grid.level[b] <= level <= grid.level[a]
        ]
        own = corners[a][0] + grid.nodes[a].width
        right = own + _LOOP if a == b else max(passed) + _LOOP * (1 + number % 4)
        bottom = corners[a][1] + grid.nodes[a].height * (0.7 if a == b else 0.5)
        top = corners[b][1] + grid.nodes[b].height * (0.3 if a == b else 0.5)
        ends = ((own, bottom, bottom), (corners[b][0] + grid.nodes[b].width, top, top))
        routes[a, b] = Route(ends, returns=True, right=right)
        width = max(width, right + 4)
    return width
