"""The tests of pages find what a page must not do."""

from __future__ import annotations

import re

import pytest

from tests.browser.chromium import REQUIRED, is_required

POLICY = (
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'\">"
)
NOWHERE = "http://127.0.0.1:9"
IMAGE = f"<img src='{NOWHERE}/a.png' alt=''>"
FAULTS = {
    f"requested {NOWHERE}/a.png": IMAGE,
    "requested file:///no_such.css": "<link rel=stylesheet href='file:///no_such.css'>",
    f"requested {NOWHERE}/data": f"<script>fetch('{NOWHERE}/data').catch(() => 0)</script>",
    "console: wrong": "<script>console.error('wrong')</script>",
    "console: odd": "<script>console.warn('odd')</script>",
    "uncaught: boom": "<script>throw new Error('boom')</script>",
    "uncaught: later": "<script>Promise.reject(new Error('later'))</script>",
    "dialog: 1": "<script>alert(1)</script>",
    "opened a window": "<script>open('about:blank')</script>",
    "policy: img-src": POLICY + IMAGE,
    "policy: script-src blocked eval": POLICY + "<script>try { eval('1') } catch {}</script>",
}


@pytest.mark.parametrize("problem", FAULTS)
def test_a_fault_of_a_page_fails_its_test(pages, problem):
    page = pages.open(FAULTS[problem])
    with pytest.raises(AssertionError, match=re.escape(problem)):
        pages.check(page)
    pages.check(page)  # each problem is told once
    pages.close(page)


def test_a_page_of_its_own_file_passes(open_page):
    blob = "new Worker(URL.createObjectURL(new Blob(['postMessage(location.protocol)'])))"
    html = (
        "<img alt='' src='data:image/gif;base64,R0lGODlhAQABAAAAACw='><h1>Page</h1>"
        f"<script>{blob}.onmessage = (e) => document.querySelector('h1').append(e.data)</script>"
    )
    page = open_page(html, "#a")
    page.get_by_text("Pageblob:").wait_for()
    assert page.url.endswith(".html#a")


def test_the_policy_of_a_page_does_not_stop_the_tests(open_page):
    page = open_page(f"{POLICY}<h1>Page</h1>")
    assert page.evaluate("document.querySelector('h1').textContent") == "Page"


def test_a_browser_that_is_missing_fails_only_where_it_is_required(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv(REQUIRED, raising=False)
    assert not is_required()
    monkeypatch.setenv("CI", "true")
    assert is_required()
    monkeypatch.delenv("CI")
    monkeypatch.setenv(REQUIRED, "required")
    assert is_required()
