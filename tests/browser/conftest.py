"""One Chromium for the tests of this folder, and pages that fail the test if they do wrong.

pytest-xdist gives each worker a first chunk of consecutive tests, so that one worker runs all tests
of this folder and one browser is started. The browser ends with the last test of the folder:
playwright leaves an event loop running in the thread until then, with which `asyncio.run` fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.browser.chromium import REQUIRED, VARIABLE, find, is_required, launch
from tests.browser.samples import html, sample
from tests.browser.watched import Pages

OpenPage = Callable[..., Page]


@pytest.fixture(scope="package")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    """Pages of one browser, which the tests of this folder share."""
    with sync_playwright() as playwright:
        path = find(playwright)
        if path is None:
            reason = f"there is no Chromium: install it, or set {VARIABLE} to its path"
            if is_required():
                pytest.fail(f"{reason} ({REQUIRED} or CI is set)")
            pytest.skip(reason)
        browser = launch(playwright, path)
        yield Pages(browser, tmp_path_factory.mktemp("pages"))
        browser.close()


@pytest.fixture
def open_page(pages: Pages) -> Iterator[OpenPage]:
    """Open html or a file in a page of the test's own.

    The test fails if the page requests anything but its own file, writes an error or a warning to
    the console (violations of its Content-Security-Policy are errors), or opens a dialog.
    """
    opened: list[Page] = []

    def open_(source: str | Path, fragment: str = "", **how: Any) -> Page:
        opened.append(pages.open(source, fragment, **how))
        return opened[-1]

    yield open_
    try:
        for page in opened:
            pages.check(page)
    finally:
        for page in opened:
            pages.close(page)


@pytest.fixture(scope="package")
def sample_files(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The html file of a sample, which is rendered once."""
    folder = tmp_path_factory.mktemp("samples")

    def file(name: str) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            path.write_bytes(html(sample(name)).encode("utf-8"))
        return path

    return file


@pytest.fixture
def open_sample(open_page: OpenPage, sample_files: Callable[[str], Path]) -> OpenPage:
    """Open the page of a sample; see `open_page`."""
    return lambda name, fragment="", **how: open_page(sample_files(name), fragment, **how)
