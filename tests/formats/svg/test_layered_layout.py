"""The places of boxes in layers."""

from __future__ import annotations

import random
from itertools import pairwise

from hookcli.formats.svg.layered_layout import GAP, LayoutNode, _spread, layout


def nodes(count, width=50.0, height=20.0):
    inner = [LayoutNode(width, height, width / 2, width / 2)] * (count - 2)
    end = LayoutNode(0.0, 0.0, 0.0, 0.0)
    return [end, *inner, end]


def test_a_chain_is_straight():
    placed = layout(nodes(5), [(0, 1), (1, 2), (2, 3), (3, 4)], gap=10)
    assert [x for x, _ in placed.corners[1:4]] == [placed.corners[1][0]] * 3
    assert [y for _, y in placed.corners] == [0, 10, 40, 70, 100]
    assert placed.height == 100
    for route in placed.routes.values():
        assert len({x for x, _, _ in route.points}) == 1


def test_a_layer_is_below_all_that_lead_to_it():
    links = [(0, 1), (1, 2), (0, 3), (2, 3), (1, 4), (3, 4), (4, 5)]
    placed = layout(nodes(6), links, gap=10)
    for a, b in links:
        assert placed.corners[a][1] < placed.corners[b][1]


def test_boxes_of_a_layer_are_apart_and_lines_pass_between_them():
    links = [(0, i) for i in range(1, 6)] + [(i, 6) for i in range(1, 6)] + [(0, 6)]
    placed = layout(nodes(7), links, gap=10)
    left = sorted(x for x, _ in placed.corners[1:6])
    assert all(b - a >= 50 + GAP - 1e-6 for a, b in pairwise(left))
    (_, (x, top, bottom), _) = placed.routes[0, 6].points  # past the boxes
    assert top <= placed.corners[1][1]
    assert bottom >= placed.corners[1][1] + 20
    assert all(not corner < x < corner + 50 for corner, _ in placed.corners[1:6])


def test_lines_that_need_not_cross_do_not():
    # 1 leads to 4, 2 to 3: in the order of the calls they would cross
    placed = layout(nodes(6), [(0, 1), (0, 2), (1, 4), (2, 3), (3, 5), (4, 5)], gap=10)
    x = [corner for corner, _ in placed.corners]
    assert (x[1] < x[2]) == (x[4] < x[3])


def test_a_line_that_returns_is_right_of_what_it_passes():
    placed = layout(nodes(5), [(0, 1), (1, 2), (2, 3), (3, 4), (3, 1), (2, 2)], gap=10)
    back, loop = placed.routes[3, 1], placed.routes[2, 2]
    assert back.returns
    assert loop.returns
    assert not placed.routes[1, 2].returns
    assert all(back.right > x + 50 for x, _ in placed.corners[1:4])
    assert placed.width >= max(back.right, loop.right)
    assert back.points[0][1] > back.points[1][1]  # from the lower box to the upper one


def test_what_leads_to_a_box_and_comes_from_none_is_near_it():
    placed = layout(nodes(6), [(0, 1), (1, 2), (2, 4), (3, 4), (4, 5)], gap=10)
    assert placed.corners[3][1] == placed.corners[2][1]


def test_places_are_the_best_that_are_apart():
    generator = random.Random(0)
    for _ in range(50):
        count = generator.randint(1, 6)
        wanted = [generator.uniform(0, 100) for _ in range(count)]
        weights = [generator.uniform(0.1, 4) for _ in range(count)]
        apart = [generator.uniform(5, 40) for _ in range(count)]

        def cost(places, wanted=wanted, weights=weights):
            pairs = zip(places, wanted, weights, strict=True)
            return sum(weight * (x - want) ** 2 for x, want, weight in pairs)

        def fits(places, apart=apart):
            pairs = zip(places, places[1:], apart, strict=False)
            return all(b - a >= distance - 1e-9 for a, b, distance in pairs)

        best = _spread(wanted, weights, apart)
        assert fits(best)
        for _ in range(200):
            other = [x + generator.gauss(0, 3) for x in best]
            assert not fits(other) or cost(other) >= cost(best) - 1e-9


def test_a_box_that_nothing_leads_to_has_a_place():
    alone = layout([LayoutNode(50.0, 20.0, 25.0, 25.0)], [], gap=10)
    assert (alone.corners, alone.width, alone.height) == ([(0.0, 0)], 50.0, 20.0)
    # 3 and 4 have no line to the layer above or below; lines of the others cross at first
    placed = layout(nodes(8), [(0, 1), (0, 2), (1, 6), (2, 5), (5, 7), (6, 7)], gap=10)
    assert len(set(placed.corners[1:7])) == 6
