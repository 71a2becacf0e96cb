"""Writes screenshots of the panels of each sample's page: wide and narrow, light and dark.

Usage: `python -m tests.browser.screenshots FOLDER [NAME ...]`. A name is that of a sample, or the
path of an html file.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.chromium import VARIABLE, find, launch
from tests.browser.samples import SAMPLES, html, sample
from tests.browser.watched import Pages

SIZES = ((1400, 900), (400, 800))
SETTLED = 400  # ms after which a panel is drawn, also one that is laid out in a worker
THEMES = ("light", "dark")


def write(pages: Pages, name: str, source: str | Path, folder: Path) -> None:
    """Write a screenshot of each panel of a page: the whole document, however long it is."""
    for size in SIZES:
        for theme in THEMES:
            page = pages.open(source, size=size, theme=theme)
            for tab in page.locator("[role=tab]").all():
                tab.click()
                page.wait_for_timeout(SETTLED)
                panel = (tab.get_attribute("id") or "").removeprefix("tab-")
                path = folder / f"{name}-{panel}-{size[0]}-{theme}.png"
                page.screenshot(path=path, full_page=True)
                print(path)
            pages.check(page)
            pages.close(page)


def main() -> int:
    """Write the screenshots that the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a sample, or an html file")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as made:
        path = find(playwright)
        if path is None:
            parser.error(f"there is no Chromium: install it, or set {VARIABLE} to its path")
        browser = launch(playwright, path)
        pages = Pages(browser, Path(made))
        for name in given.names or SAMPLES:
            is_sample = name in SAMPLES
            source = html(sample(name)) if is_sample else Path(name)
            write(pages, name if is_sample else Path(name).stem, source, given.folder)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
