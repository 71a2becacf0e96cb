"""The pages of hooks and actions, and the reference that is made of them."""

from __future__ import annotations

import pytest

from hookcli.catalogue.actions import ARGUMENTS, CATALOGUE as ACTIONS
from hookcli.catalogue.kinds import CATALOGUE as HOOKS
from hookcli.catalogue.options import OPTIONS
from hookcli.reference.hooks import (
    action_page,
    actions_table,
    hooks_table,
    kind_page,
)
from hookcli.reference.markdown import hook_pages
from tests.conftest import ROOT, SAMPLES
from tests.docs.generated import check_page_without_outputs

PAGES = hook_pages((SAMPLES / "hooks" / "net.py").read_text())


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_of_hooks_are_those_of_the_catalogue(name):
    check_page_without_outputs(ROOT / "docs" / "hooks" / name, PAGES[name])


def test_no_page_of_hooks_is_left_over():
    assert {path.name for path in (ROOT / "docs" / "hooks").iterdir()} == {*PAGES}


def test_a_page_of_a_kind():
    assert (
        kind_page(HOOKS["post_accumulate_grad"], 72)
        == """\
post_accumulate_grad  (tensor hook)

Fires after a gradient is added to a parameter's .grad.

signature    hook(parameter) -> None
value        the parameter's .grad
returns      must be None
attaches to  parameter
phases       backward
models       python, package, torchscript, exported
torch        2.1 or later
attached by  Tensor.register_post_accumulate_grad_hook(hook)
example      {kind: post_accumulate_grad, at: "*", do: record}

caveats
  - it does not fire for gradients computed by torch.autograd.grad
"""
    )


def test_a_page_of_an_action():
    assert (
        action_page(ACTIONS["clamp"])
        == """\
clamp  (action)

Limits each value to [low, high].

argument    [low, high]
part        clamp: {value: …, index: "[:, 3]"} changes a part as Python indexes
            it, clamp: {value: …, heads: 2 of 8} a head: one of 8 equal parts of
            the last axis
works with  kinds whose hooks may return a value
tensors     real or fake
example     do: [{clamp: [-1, 1]}]
"""
    )


@pytest.mark.parametrize("width", [50, 60, 80, 120])
def test_pages_and_tables_fit_their_width(width):
    pages = [kind_page(kind, width) for kind in HOOKS.values()]
    pages += [action_page(action, width) for action in ACTIONS.values()]
    for page in pages:
        for line in page.splitlines():
            words = line.strip().split(" ")
            assert len(line) <= width or len(words[-1]) > width - 25, line  # a long word
    for table in (hooks_table(max(width, 80)), actions_table(max(width, 80))):
        assert max(map(len, table.splitlines())) <= max(width, 80)


@pytest.mark.parametrize("kind", HOOKS.values(), ids=HOOKS)
def test_a_page_leaves_nothing_out(kind):
    said = " ".join(kind_page(kind).split())
    reference = "\n".join(PAGES.values())
    for text in (kind.signature, kind.value, kind.returns, kind.registers, kind.example, kind.since,
                 *kind.caveats, *kind.phases, *kind.backends, *kind.options):  # fmt: skip
        assert " ".join(text.split()) in said
    assert f"\n## {kind.name}\n" in reference
    assert kind.example in reference


def test_every_option_and_argument_has_words():
    assert {option for kind in HOOKS.values() for option in kind.options} <= OPTIONS.keys()
    assert {action.argument for action in ACTIONS.values()} <= ARGUMENTS.keys()


def test_the_tables_have_a_line_for_each():
    for table, names in ((hooks_table(), HOOKS), (actions_table(), ACTIONS)):
        rows = [line for line in table.splitlines()[2:] if line and line[-1] != ":"]
        assert [line.split()[0] for line in rows] == list(names)


def test_the_reference_is_markdown_as_it_is_meant():
    markdown_it = pytest.importorskip("markdown_it")
    tokens = markdown_it.MarkdownIt("gfm-like", {"linkify": False}).parse("\n".join(PAGES.values()))
    headings = [t.tag for t in tokens if t.type == "heading_open"]
    assert headings.count("h1") == len(PAGES)
    examples = [t for t in tokens if t.type == "fence" and t.info == "console"]
    assert len(examples) == sum(not kind.needs_gpu for kind in HOOKS.values())
    rows = [t for t in tokens if t.type == "tr_open"]
    assert len(rows) > len(HOOKS) * 7 + len(ACTIONS)
    cells = 0
    for token in tokens:  # a row whose pipes were not escaped would have more cells than titles
        cells = 0 if token.type == "tr_open" else cells + (token.type == "td_open")
        assert cells <= 6
