"""The treegrid: rows in view alone are in the document, and read as if all were (ARIA treegrid)."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from hookcli.formats.html.bundle import assets
from tests.browser.grids import Grid, Row

CSS = files("hookcli.formats.html") / "assets" / "css"
# a tree by hand: (name, parent row, level, size of its siblings, position, has children)
SMALL = (
    ("root", -1, 1, 1, 1, True),
    ("stem", 0, 2, 3, 1, False),
    ("body", 0, 2, 3, 2, True),
    ("body.0", 2, 3, 2, 1, True),
    ("body.0.fc", 3, 4, 1, 1, False),
    ("body.1", 2, 3, 2, 2, False),
    ("head", 0, 2, 3, 3, False),
)
SIZES = [None, 30, None, 7, 200, 7, 5]


def page_of(names, parents, sizes, most=200):
    """A page with a grid of two columns; `grid` and the `chosen` rows are names of its scripts."""
    script = assets("grid/treegrid.js", diagram=False, lines=False).script
    style = "".join((CSS / name).read_text("utf-8") for name in ("base.css", "grid.css"))
    data = json.dumps({"names": names, "parents": parents, "sizes": sizes})
    return f"""<!doctype html><meta charset=utf-8><title>Grid</title><style>{style}</style>
<body><main></main><script>{script}
const {{ createTreegrid }} = module_grid_treegrid;
const {{ names, parents, sizes }} = {data};
const chosen = [];
const grid = createTreegrid({{
  label: "Rows", count: names.length, parent: parents, most: {most},
  onselect: (row) => chosen.push(row),
  columns: [
    {{ id: "name", title: "Name", width: 200, grow: 1, value: (row) => names[row],
      cell: (row) => names[row] }},
    {{ id: "size", title: "Size", width: 90, align: "end", descending: true,
      value: (row) => sizes[row], cell: (row) => String(sizes[row] ?? "") }},
  ],
}});
document.querySelector("main").append(grid.tools, grid.element);
grid.refresh();
</script>"""


def flat(count):
    """A flat grid of rows r0, r1, …"""
    return page_of([f"r{row}" for row in range(count)], None, list(range(count)))


@pytest.fixture
def small(open_page):
    return Grid(open_page(page_of([row[0] for row in SMALL], [row[1] for row in SMALL], SIZES)))


@pytest.fixture
def many(open_page):
    """10,001 rows: 100 groups of 99 rows under one root, all open."""
    names, parents = ["root"], [-1]
    for group in range(100):
        parents.append(0)
        names.append(f"g{group}")
        top = len(names) - 1
        for leaf in range(99):
            parents.append(top)
            names.append(f"g{group}.{leaf}")
    grid = Grid(open_page(page_of(names, parents, list(range(len(names))), most=20_000)))
    grid.element.evaluate("() => grid.setDepth(2)")
    return grid


def names(grid):
    return [row.text for row in grid.rows()]


def test_each_row_has_its_level_and_its_place_among_its_siblings(small):
    found = [
        (r.text, r.level, r.size, r.position, {"true": True, None: False}[r.expanded])
        for r in small.rows()
    ]
    assert found == [(name, *rest) for name, _, *rest in SMALL]
    assert [row.index for row in small.rows()] == [2, 3, 4, 5, 6, 7, 8]  # the header is row 1
    assert small.element.get_attribute("aria-rowcount") == "8"
    assert small.element.get_attribute("role") == "treegrid"
    assert small.element.get_attribute("aria-label") == "Rows"


def test_arrows_move_fold_and_unfold(small):
    small.page.keyboard.press("Tab")
    small.element.locator("[role=row][tabindex='0']:not([hidden])").focus()
    assert small.current().text == "root"
    assert small.press("ArrowDown").text == "stem"
    assert small.press("ArrowLeft").text == "root"  # no children: to the parent
    assert small.press("ArrowRight").text == "stem"  # is open: to the first child
    assert small.press("ArrowDown").text == "body"
    body = small.press("ArrowLeft")
    assert (body.text, body.expanded) == ("body", "false")
    assert names(small) == ["root", "stem", "body", "head"]
    assert small.press("ArrowDown").text == "head"
    assert small.press("ArrowUp", "ArrowRight").expanded == "true"
    assert names(small) == [row[0] for row in SMALL]
    assert small.press("End").text == "head"
    assert small.press("Home").text == "root"
    assert small.press("ArrowRight", "ArrowRight").text == "stem"


def test_folding_above_the_focus_moves_it_to_what_is_still_shown(small):
    small.element.get_by_text("body.0.fc").click()
    assert small.current().text == "body.0.fc"
    small.page.get_by_role("button", name="Collapse all rows").click()
    assert names(small) == ["root", "stem", "body", "head"]
    assert small.element.locator("[role=row][tabindex='0']:not([hidden])").text_content() == "body"


def test_enter_and_space_and_a_click_choose_a_row(small):
    small.element.get_by_text("stem").click()
    assert [row.text for row in small.rows() if row.selected == "true"] == ["stem"]
    small.press("ArrowDown", "Enter")
    assert [row.text for row in small.rows() if row.selected == "true"] == ["body"]
    small.press("End", " ")
    assert small.page.evaluate("chosen") == [1, 2, 6]
    assert small.current().expanded is None


def test_a_click_at_the_triangle_folds_and_chooses_nothing(small):
    small.element.get_by_role("row", name="body", exact=True).locator(".grid-toggle").click()
    assert names(small) == ["root", "stem", "body", "head"]
    assert small.page.evaluate("chosen") == []


def header(grid, name):
    return grid.element.get_by_role("columnheader", name=name)


def test_a_header_sorts_siblings_and_keeps_the_tree(small):
    header(small, "Size").click()
    assert header(small, "Size").get_attribute("aria-sort") == "descending"
    assert names(small) == ["root", "stem", "head", "body", "body.0", "body.0.fc", "body.1"]
    assert [row.position for row in small.rows()] == [1, 1, 2, 3, 1, 1, 2]
    header(small, "Size").press("Enter")
    assert header(small, "Size").get_attribute("aria-sort") == "ascending"
    assert names(small) == ["root", "head", "stem", "body", "body.0", "body.0.fc", "body.1"]
    header(small, "Size").click()
    assert header(small, "Size").get_attribute("aria-sort") == "none"
    assert names(small) == [row[0] for row in SMALL]


def test_a_filter_keeps_what_is_above_its_matches(small):
    small.element.evaluate("() => grid.filter(Uint8Array.from([0, 0, 0, 0, 1, 0, 0]))")
    assert names(small) == ["root", "body", "body.0", "body.0.fc"]
    assert {(row.position, row.size) for row in small.rows()} == {(1, 1)}
    assert small.element.get_attribute("aria-rowcount") == "5"
    small.element.evaluate("() => grid.filter(new Uint8Array(7))")
    assert names(small) == []
    assert small.page.get_by_text("No row matches the search").is_visible()
    small.element.evaluate("() => grid.filter(null)")
    assert names(small) == [row[0] for row in SMALL]


def test_only_rows_in_view_are_in_the_document_and_they_say_their_places(many):
    assert many.element.get_attribute("aria-rowcount") == "10002"
    assert len(many.rows()) < 100
    many.element.evaluate("(box) => { box.scrollTop = box.scrollHeight / 2; }")
    many.page.wait_for_timeout(50)
    rows = many.rows()
    assert len(rows) < 100
    for row in rows:
        assert row == expected(row.index, many.current())
    assert abs(rows[-1].index - 5000) < 60


def expected(index, current):
    """Row `index` of the document, which is 2 for the first, from its number alone."""
    at = index - 2
    if at == 0:
        return Row("root", ["root", "0"], 1, 1, 1, 2, "true", "false")
    group, leaf = divmod(at - 1, 100)
    if leaf == 0:
        name = f"g{group}"
        return Row(name, [name, str(at)], 2, 100, group + 1, index, "true", "false")
    name = f"g{group}.{leaf - 1}"
    return Row(name, [name, str(at)], 3, 99, leaf, index, None, "false")


def test_the_keyboard_reaches_rows_that_were_not_in_the_document(many):
    many.element.locator("[role=row][tabindex='0']:not([hidden])").focus()
    last = many.press("End")
    assert (last.text, last.position, last.size, last.level) == ("g99.98", 99, 99, 3)
    up = many.press("PageUp")
    assert 10 < last.index - up.index < 60
    assert many.press("PageDown").text == "g99.98"
    assert many.press("ArrowLeft").text == "g99"
    assert in_view(many)
    assert many.press("ArrowLeft", "ArrowLeft").text == "root"
    assert in_view(many)


def in_view(grid):
    return grid.page.evaluate(
        """() => {
          const row = document.activeElement.getBoundingClientRect();
          const box = document.querySelector("[role=treegrid]").getBoundingClientRect();
          return row.top >= box.top && row.bottom <= box.bottom + 1;
        }"""
    )


def test_the_focus_stays_when_its_row_is_scrolled_out_of_view(many):
    many.element.get_by_text("g0.3", exact=True).click()
    many.element.evaluate("(box) => { box.scrollTop = 100_000; }")
    many.page.wait_for_timeout(50)
    assert many.current().text == "g0.3"
    assert many.press("ArrowDown").text == "g0.4"
    assert in_view(many)


def test_rows_beyond_the_tallest_element_can_be_reached(open_page):
    """The height of 400,000 rows is more than browsers allow an element."""
    grid = Grid(open_page(flat(400_000)))
    assert grid.element.get_attribute("role") == "grid"
    grid.element.locator("[role=row][tabindex='0']:not([hidden])").focus()
    assert grid.press("End").text == "r399999"
    assert grid.press("ArrowUp").text == "r399998"
    assert len(grid.rows()) < 100
    row = grid.rows()[0]
    assert (row.level, row.size, row.position, row.expanded) == (None, None, None, None)
