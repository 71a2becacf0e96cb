"""Opens html in pages that are watched: what a self-contained page must not do is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request

LOCAL = ("blob:", "data:", "about:")  # addresses that reach no other file and no network
SIZE = (1400, 900)
# A page of hookcli marks when its scripts have shown the data; other pages have no data.
_READY = """() => new Promise((done) => {
  const look = () => {
    if (!document.getElementById("data") || performance.getEntriesByName("hookcli:ready").length) {
      done();
    } else setTimeout(look, 5);
  };
  look();
})"""
_NEXT_FRAME = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
Theme: TypeAlias = Literal["light", "dark"]
# Chromium does not write each violation to the console: not that of an eval whose error is caught.
_TELL_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy: ${event.effectiveDirective} blocked ${event.blockedURI}`);
});
"""


@dataclass
class Watched:
    """A page and what it did wrong: requests, errors, dialogs, other windows.

    `problems` are sentences. Violations of the page's Content-Security-Policy are among them.
    """

    page: Page
    file: str = ""  # its address, file:///…/page.html
    problems: list[str] = field(default_factory=list)

    def watch(self) -> None:
        """Record what happens from now on. Call this before the page is loaded."""
        page = self.page
        page.add_init_script(_TELL_VIOLATIONS)
        page.on("request", self._on_request)
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.problems.append(f"uncaught: {error}"))
        page.on("dialog", self._on_dialog)
        page.on("popup", self._on_popup)
        page.on("websocket", lambda socket: self.problems.append(f"opened a socket: {socket.url}"))
        page.on("crash", lambda _: self.problems.append("the page crashed"))

    def check(self) -> None:
        """Raise an AssertionError if there is a problem."""
        assert not self.problems, "\n".join(self.problems)

    def _on_request(self, request: Request) -> None:
        address = request.url.partition("#")[0]
        if address != self.file and not address.startswith(LOCAL):
            self.problems.append(f"requested {request.url[:200]}")

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning", "assert"}:
            self.problems.append(f"console: {message.text}")

    def _on_popup(self, other: Page) -> None:
        self.problems.append(f"opened a window: {other.url}")
        other.close()

    def _on_dialog(self, dialog: Dialog) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()


def fragment(page: Page) -> str:
    """Return what follows the # in the page's address, as the page itself knows it.

    `page.url` is older for a moment: the browser reports a new address after it reports that a
    click has been handled.
    """
    return str(page.evaluate("location.hash")).removeprefix("#")


def settle(page: Page) -> None:
    """Wait until the page has handled what happened, such as another address.

    A click on a link, or a new `location.hash`, is over before `hashchange` is handled.
    """
    page.evaluate(_NEXT_FRAME)


def reload(page: Page) -> None:
    """Load the page again, and wait until it shows its data.

    What it stored before is on its way to the browser for a moment.
    """
    settle(page)
    page.reload()
    page.evaluate(_READY)


def emulate_media(page: Page, **media: str) -> None:
    """Change the medium or the color scheme, and wait until the page knows.

    The browser notes a change when it lays out a frame, and tells `matchMedia` listeners of it
    before the frame after that.
    """
    page.emulate_media(**media)
    for _ in range(3):
        settle(page)


class Pages:
    """Opens pages of one browser.

    A page that a test has closed is used again, because a new one takes 0.2 s.
    """

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.folder = folder
        self._browser = browser
        self._context = browser.new_context()
        self._free: list[Watched] = []
        self._opened: dict[Page, Watched] = {}
        self._files = 0

    def open(
        self,
        source: str | Path,
        fragment: str = "",
        *,
        size: tuple[int, int] = SIZE,
        theme: Theme = "light",
    ) -> Page:
        """Load html, or a file that contains it, by its file:// address.

        `size` is that of the window in pixels, `theme` the color scheme that the reader prefers.
        """
        path = source if isinstance(source, Path) else self._write(source)
        watched = self._free.pop() if self._free else self._new()
        page = watched.page
        self._opened[page] = watched
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.emulate_media(color_scheme=theme, media="screen", reduced_motion="reduce")
        if watched.file == path.resolve().as_uri():
            page.goto("about:blank")  # else another fragment of the same file loads nothing
        watched.file = path.resolve().as_uri()
        page.goto(watched.file + fragment)
        page.evaluate(_READY)
        return page

    @contextmanager
    def without_scripts(self, path: Path, size: tuple[int, int] = SIZE) -> Iterator[Page]:
        """Open a file in a browser that runs no script of pages; it is watched like the others."""
        width, height = size
        context = self._browser.new_context(
            java_script_enabled=False, viewport={"width": width, "height": height}
        )
        watched = Watched(context.new_page(), path.resolve().as_uri())
        watched.page.on("request", watched._on_request)
        watched.page.on("console", watched._on_console)
        try:
            watched.page.goto(watched.file)
            yield watched.page
            watched.check()
        finally:
            context.close()

    def check(self, page: Page) -> None:
        """Raise an AssertionError if the page did something wrong; then forget it."""
        # What happened before is told before the answer to this.
        settle(page)
        watched = self._opened[page]
        problems, watched.problems = watched.problems, []
        assert not problems, "\n".join(problems)

    def close(self, page: Page) -> None:
        """Keep the page for the next test, without what this one stored."""
        watched = self._opened.pop(page)
        page.evaluate("() => localStorage.clear()")
        watched.problems = []
        self._free.append(watched)

    def _new(self) -> Watched:
        page = self._context.new_page()
        page.set_default_timeout(5_000)
        watched = Watched(page)
        watched.watch()
        return watched

    def _write(self, html: str) -> Path:
        self._files += 1
        path = self.folder / f"page{self._files}.html"
        path.write_bytes(html.encode("utf-8"))
        return path
