"""A page in which no script runs, on a screen and on paper: the tables are there, whole."""

from __future__ import annotations

import pytest

from hookcli.comparison.diff import Diff
from hookcli.comparison.training.training_diff import TrainingDiff
from hookcli.formats.html.plain_tables import MOST_ROWS
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport
from tests.browser.reports import HOSTILE, hostile, large
from tests.browser.samples import SAMPLES, html, sample

# The text of each cell that is seen: it has a size, and nothing above it hides it.
_CELLS = """() => [...document.querySelectorAll("td")].filter((cell) => cell.checkVisibility() &&
  cell.getBoundingClientRect().width > 0).map((cell) => cell.innerText.trim())"""
_OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Texts that reach beyond their own cells, or cells that reach beyond the page.
_CUT = """() => [...document.querySelectorAll("td, th")].filter((cell) =>
  cell.scrollWidth > cell.clientWidth + 1 ||
  cell.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map((cell) => cell.innerText)"""


def written(value):
    """A measured number as the tables write it, None for those that have no plain form."""
    return f"{value:.4g}" if isinstance(value, float) and 1e-3 <= value < 1e4 else None


def told(document):
    """Texts that cells must have, from the report itself: names, norms, losses, events."""
    if isinstance(document, TrainingReport):
        for record in document.records:
            yield from told(record)
            yield from (written(row.loss) for row in record.training.steps)
            yield from (f"{row.step:,}" for row in record.training.steps)
    elif isinstance(document, Diff):
        yield from ((row.a or row.b).type for row in document.rows)
    elif isinstance(document, TrainingDiff):
        for record in document.records:
            yield from (f"{row.step:,}" for row in record.rows if row.status != "same")
    elif isinstance(document, Report):
        if any(row.status is not None for row in document.parameters):
            yield from (row.name for row in document.parameters)
            yield from (written(row.grad and row.grad["norm"]) for row in document.parameters)
        yield from (row.target for row in document.events if row.target)
        yield from (row.rule for row in document.checks)
        yield from (row.type for row in document.layers)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_tables_are_seen_where_no_script_runs(pages, sample_files, name):
    with pages.without_scripts(sample_files(name)) as page:
        cells = page.evaluate(_CELLS)
        assert page.evaluate(_OVERFLOW) <= 0
    expected = {text for text in told(sample(name)) if text}
    assert len(expected) > 3
    missing = [text for text in expected if not any(text in cell for cell in cells)]
    assert missing == []


@pytest.mark.parametrize("name", ["inspect", "trace", "run", "diff", "check"])
def test_no_cell_is_cut_on_paper_where_no_script_runs(pages, sample_files, name):
    with pages.without_scripts(sample_files(name), (700, 900)) as page:
        page.emulate_media(media="print")
        assert page.evaluate(_CELLS)
        assert page.evaluate(_CUT) == []


def test_hostile_names_are_text_where_no_script_runs(pages, tmp_path):
    path = tmp_path / "page.html"
    path.write_bytes(html(hostile()).encode("utf-8"))
    with pages.without_scripts(path, (420, 800)) as page:
        cells = page.evaluate(_CELLS)
        assert page.evaluate(_OVERFLOW) <= 0
        assert page.locator("img, svg, textarea").count() == 0
    for shown in HOSTILE.values():
        assert any(shown in cell for cell in cells), shown


def test_tables_of_many_rows_tell_how_many_are_left_out(pages, tmp_path):
    path = tmp_path / "page.html"
    path.write_bytes(html(large(200)).encode("utf-8"))
    with pages.without_scripts(path) as page:
        tables = page.locator("table")
        for index in range(tables.count()):
            assert tables.nth(index).locator("tbody tr").count() == MOST_ROWS
        more = page.locator(".still-more").all_inner_texts()
    assert "1,501 more parameters not shown" in more


@pytest.mark.parametrize("name", ["grads", "run"])
def test_a_page_whose_scripts_run_does_not_show_them_twice(open_sample, name):
    page = open_sample(name)
    assert page.locator(".still").count() == 0
