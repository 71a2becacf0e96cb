"""Finds and starts a Chromium. `python -m tests.browser.chromium` prints its path.

The exit status of the command is 1 if there is no Chromium.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

VARIABLE = "HOOKCLI_CHROMIUM"  # the path of a Chromium
REQUIRED = "HOOKCLI_BROWSER_TESTS"  # "required": without a Chromium, tests fail
PROGRAMS = ("/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",  # a container often has no user namespaces; the pages are hookcli's own
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--force-color-profile=srgb",  # the same colours in screenshots of every machine
)


def find(playwright: Playwright) -> str | None:
    """Return the path of a Chromium, or None.

    `HOOKCLI_CHROMIUM` names it; else it is the system's; else the one that
    `playwright install chromium` downloaded.
    """
    if named := os.environ.get(VARIABLE):
        return named
    for program in PROGRAMS:
        if path := shutil.which(program):
            return path
    own = playwright.chromium.executable_path
    return own if Path(own).exists() else None


def launch(playwright: Playwright, path: str) -> Browser:
    """Start the Chromium at `path`, without a window."""
    return playwright.chromium.launch(executable_path=path, args=list(FLAGS))


def is_required() -> bool:
    """Return whether tests must fail if there is no Chromium: in CI, or if the variable says so."""
    return os.environ.get(REQUIRED) == "required" or bool(os.environ.get("CI"))


def main() -> int:
    """Print the path of the Chromium that tests use."""
    with sync_playwright() as playwright:
        path = find(playwright)
    if path is None:
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
