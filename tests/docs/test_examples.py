"""What README.md and docs/ show is what comes out: commands, configurations, Python.

UPDATE_DOCS=1 writes the outputs. How a page is written stands in CONTRIBUTING.md.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest
import yaml

from hookcli.config.load import read_config
from hookcli.errors import RequestError
from tests.docs import console
from tests.docs.generated import UPDATE
from tests.docs.markdown import NAMES, PAGES, Block, blocks, with_block
from tests.docs.terminal import WIDTH, Terminal

MOST_NOT_RUN = 17
_RANDOM = re.compile(r"\bnn\.(Linear|Conv|Embedding|LSTM|GRU|RNN|Transformer|Multi)|\brandn?\(")
_FILE = re.compile(r"[\w./-]+\.(?:py|safetensors|npy|pth?|pt2|so|yaml|json)\b")


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_console_blocks_show_what_comes_out(page, tmp_path):
    text = page.read_text()
    terminal = Terminal(tmp_path)
    for number, block in enumerate(blocks(text)):
        if block.title is not None:
            terminal.write(block.title, block.text)
        if block.language != "console" or block.after("not run") is not None:
            continue
        try:
            new = console.run(block.lines, terminal)
        except (AssertionError, ValueError) as error:
            raise AssertionError(f"{page.name}:{block.line}: {error}") from None
        if UPDATE:
            text = with_block(text, blocks(text)[number], new)
            page.write_text(text)
        else:
            assert new == list(block.lines), f"{page.name}:{block.line}: see `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_yaml_and_python_blocks_are_valid(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in blocks(page.read_text()):
        try:
            if block.language == "python":
                compile(block.text, f"{page.name}:{block.line}", "exec", dont_inherit=True)
            elif block.language == "yaml" and block.title is None:
                _check_yaml(block, tmp_path)
        except (SyntaxError, yaml.YAMLError, RequestError) as error:
            raise AssertionError(f"{page.name}:{block.line}: {error}") from None


def _check_yaml(block: Block, folder: Path) -> None:
    """A configuration is read as hookcli reads it; the files that it names are there, empty."""
    if block.after("not a configuration") is not None:
        yaml.safe_load(block.text)
        return
    text, key = block.text, block.after("fragment of")
    if key is not None:
        text = f"{key}:\n{textwrap.indent(text, '  ')}"
    file = folder / "page" / "hooks.yaml"
    for name in _FILE.findall(text):
        path = (file.parent / name).resolve()
        if path.is_relative_to(folder.resolve()) and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("model: model.py\n" if path.suffix == ".yaml" else "")
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    read_config(str(file))


def test_few_blocks_are_not_run_and_each_says_why():
    skipped = {
        f"{name}:{block.line}": reason
        for name, page in zip(NAMES, PAGES, strict=True)
        for block in blocks(page.read_text())
        if (reason := block.after("not run")) is not None
    }
    assert len(skipped) <= MOST_NOT_RUN, skipped
    for place, reason in skipped.items():
        assert len(reason.split()) >= 3, f"{place}: a reason is a sentence, not {reason!r}"


def test_scripts_that_draw_numbers_have_a_seed():
    """hookcli seeds the models that it builds; a script of its own shows the same each time."""
    problems = [problem for page in PAGES for problem in _without_seed(page)]
    assert not problems, "\n".join(problems)


def _without_seed(page):
    shown = blocks(page.read_text())
    typed = "\n".join(block.text for block in shown if block.language == "console")
    for block in shown:
        if block.language != "python" or block.title is None:
            continue
        if re.search(rf"(python|hookcli run)\b.* {re.escape(block.title)}\b", typed):
            if "manual_seed(" not in block.text and _RANDOM.search(block.text):
                yield f"{page.name}:{block.line}: torch.manual_seed(0) is missing"


def test_every_command_is_in_a_console_block():
    problems = [problem for page in PAGES for problem in _outside(page)]
    assert not problems, "\n".join(problems)


def _outside(page):
    text = page.read_text()
    for block in blocks(text):
        if not block.language:
            yield f"{page.name}:{block.line}: a block has a language: ```text"
        if block.language == "console":
            typed = [line for line in block.lines if line.startswith("$ ")]
            if max(map(len, typed)) > WIDTH + 20:
                yield f"{page.name}:{block.line}: a long command"
    outside = [line for line in text.split("\n") if re.match(r" {4,}(\$ )?hookcli ", line)]
    if outside:
        yield f"{page.name}: an indented block does not run: {outside}"
