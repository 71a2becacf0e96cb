"""The machinery of the examples: it sees what differs, and keeps what a page elides."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from tests.docs import console
from tests.docs.markdown import anchors, blocks, links, slugify, with_block
from tests.docs.terminal import Command, Terminal

LINES = st.lists(st.sampled_from(["a", "b", "1.234", "x 5", ""]), max_size=8)


@given(LINES)
def test_an_output_agrees_with_itself_and_with_less_of_itself(out):
    assert console.agrees(out, out)
    for cut in range(len(out) + 1):
        assert console.agrees([*out[:cut], "..."], out)
        assert console.agrees(["...", *out[cut:]], out)


@given(LINES, LINES)
def test_without_elision_other_lines_do_not_agree(shown, out):
    assert console.agrees(shown, out) == (shown == out)


@given(LINES, st.integers(0, 8), st.integers(0, 8))
def test_an_output_that_is_written_again_keeps_its_elision_and_agrees(out, head, tail):
    shown = [*(["old"] * head), "...", *(["old"] * tail)]
    new = console.shortened(shown, out)
    assert console.agrees(new, out)
    assert ("..." in new) == (head + tail < len(out))


def test_lines_between_two_elisions_are_written_again_where_they_are_now():
    out = ["model  Net", "conv 1 ok", "norm 2 ok", "fc 3 none", "Total 9", "note: x"]
    shown = ["model  Net", "...", "fc 4 none", "...", "note: y"]
    assert console.shortened(shown, out) == ["model  Net", "...", "fc 3 none", "...", "note: x"]
    with pytest.raises(ValueError, match="by hand"):
        console.shortened(["...", "?", "..."], out)


@pytest.mark.parametrize(
    ("shown", "out", "same"),
    [
        ("norm 0.1234", "norm 0.1235", True),  # another CPU
        ("norm  1.000", "norm 0.9999", True),
        ("norm 0.1234", "norm 0.1334", False),
        ("noise 3.35e-07", "noise 1.2e-08", True),
        ("noise 3.35e-07", "noise 0.1", False),
        ("1,234 parameters", "1,235 parameters", False),
        ("layer 3", "layer 4", False),
        ("conv1 0.5", "conv2 0.5", False),
        ("0.5 ok", "0.5 none", False),
        ("net.py:12", "net.py:13", False),
    ],
)
def test_figures_may_round_otherwise_and_nothing_else(shown, out, same):
    assert console.same([shown], [out]) == same


def test_a_line_is_a_command_a_status_and_a_file():
    command = Command.read("hookcli trace 'a #b' -i 2x3 > out.txt  # status 2: no such file")
    assert command == Command(["hookcli", "trace", "a #b", "-i", "2x3"], 2, "out.txt")
    assert Command.read("# only a comment") is None


def test_a_block_is_compared_with_what_its_commands_print(tmp_path):
    terminal = Terminal(tmp_path)
    terminal.write("notes.txt", "one\ntwo\nthree\n")
    right = ("$ cat notes.txt  # a comment", "one", "...", "three", "", "$ echo $?", "0")
    assert console.run(right, terminal) == list(right)
    wrong = ("$ cat notes.txt", "four")
    assert console.run(wrong, terminal) == ["$ cat notes.txt", "one", "two", "three"]


def test_a_status_that_the_page_does_not_give_fails(tmp_path):
    with pytest.raises(AssertionError, match="status 2"):
        console.run(("$ hookcli inspect nothing.py",), Terminal(tmp_path))


def test_a_script_runs_as_python_runs_it(tmp_path):
    terminal = Terminal(tmp_path)
    terminal.write("script.py", "import sys\nprint(__name__, sys.argv)\nsys.exit(3)\n")
    block = ("$ python script.py a  # status 3", "__main__ ['script.py', 'a']")
    assert console.run(block, terminal) == list(block)


def test_what_torch_logs_with_a_time_is_not_part_of_an_output(tmp_path):
    terminal = Terminal(tmp_path)
    log = "[rank0]:[W1122 14:43:07.297530416 reducer.cpp:1529] Warning: x"
    terminal.write("log.txt", f"before\n{log}\nafter\n")
    assert terminal.run(Command.read("cat log.txt")) == ["before", "after"]


def test_a_file_outside_the_page_s_folder_is_refused(tmp_path):
    with pytest.raises(AssertionError, match="outside"):
        Terminal(tmp_path).write("../x.py", "")


PAGE = """\
# A page: `x` & [more](other.md)

<!-- not run: it needs a cluster -->
```console
$ hookcli inspect [x](y)
```

- a list

  ```python title="net.py"
  x = 1

  y = 2
  ```

[a link](#there) and `[no](link)` and ![picture](p.svg)
"""


def test_a_page_is_its_blocks_headings_and_links(tmp_path):
    first, second = blocks(PAGE)
    assert (first.language, first.after("not run")) == ("console", "it needs a cluster")
    assert (second.title, second.text) == ("net.py", "x = 1\n\ny = 2\n")
    changed = with_block(PAGE, second, ["z = 3", "", "w"])
    assert "  z = 3\n\n  w\n  ```\n" in changed
    assert [target for _, target in links(PAGE)] == ["other.md", "#there", "p.svg"]
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    assert anchors(path) == {"a-page-x--more"}
    assert slugify("What `hookcli` does (today)") == "what-hookcli-does-today"
