"""Links between pages lead somewhere, anchors included."""

from __future__ import annotations

from urllib.parse import urlsplit

from tests.conftest import ROOT
from tests.docs.markdown import DOCS, NAMES, PAGES, anchors, links

REPOSITORY = "https://github.com/hookcli/hookcli/"
MORE = [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "sample_models" / "README.md"]
ALL = [*PAGES, *MORE]


def test_links_lead_to_files_and_headings_that_exist():
    problems = [
        f"{page.relative_to(ROOT)}:{line}: {target}: {problem}"
        for page in ALL
        for line, target in links(page.read_text())
        if (problem := _problem(page, target)) is not None
    ]
    assert not problems, "\n".join(problems)


def _problem(page, target):
    if target.startswith(REPOSITORY):
        _, _, path = urlsplit(target).path.removeprefix("/hookcli/hookcli/").split("/", 2)
        return None if (ROOT / path).exists() else "the repository has no such file"
    url = urlsplit(target)
    if url.scheme:
        return None if url.scheme in {"http", "https"} else "what is this?"
    path = (page.parent / url.path).resolve() if url.path else page
    if not path.exists():
        return "no such file"
    if page.is_relative_to(DOCS) and not path.is_relative_to(DOCS):
        return f"the site has only docs/: link to {REPOSITORY}blob/main/…"
    if url.fragment and url.fragment not in anchors(path):
        return f"no such heading; there are {', '.join(sorted(anchors(path)))}"
    return None


def test_every_page_can_be_reached_from_the_first():
    seen, left = set(), [DOCS / "index.md"]
    while left:
        page = left.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        left += [
            (page.parent / url.path).resolve()
            for _, target in links(page.read_text())
            if not (url := urlsplit(target)).scheme and url.path
        ]
    assert {name for name, page in zip(NAMES, PAGES, strict=True) if page not in seen} <= {
        "README.md"
    }
