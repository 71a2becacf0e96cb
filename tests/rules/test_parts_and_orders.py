"""Orders within modules, budgets of parts: what breaks them, and what only looks like it."""

from __future__ import annotations

import pytest

from tests.conftest import HEAD
from tests.rules.judging import judge, rows

NET = (
    HEAD
    + """
example_inputs = torch.linspace(-1, 1, 16).view(2, 8)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.up = nn.Linear(8, 16)
        self.down = nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(self.up(self.norm(x)))


class Wrapper(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(8, 8)
        self.h = nn.ModuleList(Block() for _ in range(12))
        self.cell = nn.Linear(8, 8)
        self.tail = nn.Linear(8, 8)
        self.tail.weight = self.stem.weight
        self.more()

    def more(self):
        self.wrap = [Wrapper(self.cell)]

    def forward(self, x):
        x = self.stem(x)
        for block in self.h:
            x = block(x)
        for _ in range(3):
            x = self.cell(x)
        return self.tail(x)
"""
)


@pytest.fixture
def judged(tmp_path):
    """The rows of one check of a Net with other code in the place of some."""

    def judging(check, *changes):
        text = NET
        for old, new in changes:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        (folder / "net.py").write_text(text)
        rule = check.partition("rule: ")[2].partition(",")[0]
        return rows(judge(f"{folder / 'net.py'}:Net", f"checks: [{check}]"), rule), folder

    return judging


ROOT = (
    "{rule: firing_order, within: '', match: exact, order: [stem, 'h.{0..11}', "
    "{of: [cell], times: 3}, tail]}"
)
BLOCK = "{rule: firing_order, within: 'h.[0-9]', order: [norm, up, down], match: exact}"

KEPT = [
    (ROOT, []),
    (BLOCK, []),
    ("{rule: firing_order, within: '*', order: [norm, up], match: prefix, at: x}", None),
    ("{rule: firing_order, within: 'h.*[0-9]', order: [norm, down]}", []),
    (ROOT, [("x = self.cell(x)\n", "x = self.wrap[0](x)\n")]),  # what is not registered is no one
    (ROOT, [("x = self.stem(x)", "x = torch.utils.checkpoint.checkpoint(self.stem, x, "
                                 "use_reentrant=False)")]),
    (BLOCK, [("self.up(self.norm(x))", "self.up(self.norm(x)).relu()")]),
    ("{rule: budget, at: 'h.[0-9]', parameters: 296}", []),
    ("{rule: budget, at: 'h.[0-9]', parameters: 296, exact: true}", []),
    ("{rule: budget, at: h, parameters: 3552, exact: true}", []),  # a container that never runs
    ("{rule: budget, at: tail, parameters: 72, exact: true}", []),  # shared with the stem
    ("{rule: budget, at: cell, calls: 3, flops: 768, macs: 384, exact: true}", []),
    ("{rule: budget, at: '', calls: 1, exact: true}", []),
    ("{rule: budget, parameters: 3704, exact: true}", []),
    ("{rule: budget, at: h, trainable_parameters: 3552, exact: true}", []),
]  # fmt: skip


@pytest.mark.parametrize(("check", "changes"), [one for one in KEPT if one[1] is not None])
def test_what_holds(check, changes, judged):
    ((row,), _) = judged(check, *changes)
    assert row.status == "pass", row.message


BROKEN = [
    (ROOT, [("x = self.stem(x)\n", "x = self.stem(self.cell(x))\n")], "",
     "in the model (Net), position 0 is cell, expected stem, which is at position 1"),
    (ROOT, [("range(12)", "range(11)")], "",
     "in the model (Net), position 12 is cell, expected h.11, which is missing"),
    (ROOT, [("in range(3)", "in range(2)")], "",
     "in the model (Net), position 15 is tail, expected cell, which is not repeated"),
    (ROOT, [("return self.tail(x)", "return self.tail(x) + self.stem(x)")], "",
     "in the model (Net), the expected names are followed by stem"),
    (ROOT, [("return self.tail(x)", "return x")], "",
     "in the model (Net), tail is missing: the run has only 16 names"),
    (BLOCK, [("self.down(self.up(self.norm(x)))", "self.norm(self.down(self.up(x)))")], "h.0",
     "in h.0 (Block), position 0 is up, expected norm, which is at position 2"),
    ("{rule: budget, at: 'h.[0-9]', parameters: 295}", [], "h.0",
     "296 parameters in h.0 exceed the limit of 295 by 0.3%"),
    ("{rule: budget, at: 'h.[0-9]', parameters: 300, exact: true}", [], "h.0",
     "296 parameters in h.0, expected 300 (4 fewer)"),
    ("{rule: budget, at: cell, calls: 2}", [], "cell",
     "3 calls of modules in cell exceed the limit of 2 by 50.0%"),
    ("{rule: budget, at: cell, flops: 767}", [], "cell",
     "768 FLOPs in a forward in cell exceed the limit of 767 by 0.1%"),
    ("{rule: budget, parameters: 3705, exact: true}", [], "",
     "3,704 parameters, expected 3,705 (1 fewer)"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "changes", "target", "said"), BROKEN)
def test_what_does_not_hold(check, changes, target, said, judged):
    found, folder = judged(check, *changes)
    row = found[0]
    assert (row.status, row.target) == ("fail", target)
    assert row.message == said
    assert row.place is not None
    assert row.place.startswith(str(folder)) or row.place.startswith("net.py")


def test_every_module_that_is_out_of_order_is_told_once_with_the_line_of_the_call(judged):
    change = ("self.down(self.up(self.norm(x)))", "self.norm(self.down(self.up(x)))")
    found, folder = judged(BLOCK, change)
    assert [row.target for row in found] == [f"h.{i}" for i in range(10)]
    line = (folder / "net.py").read_text().splitlines()[int(found[0].place.rpartition(":")[2]) - 1]
    assert line.strip() == "return x + self.norm(self.down(self.up(x)))"
    assert len({row.fingerprint for row in found}) == 10


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ("{rule: firing_order, within: gone, order: [a]}", "no module that ran matches 'gone'"),
        ("{rule: budget, at: gone, parameters: 1}", "no module matches 'gone'"),
        ("{rule: budget, at: stem, buffer_bytes: 1}",
         "the bytes of buffers in stem are unknown"),
        ("{rule: firing_order, order: [{of: ['a{0..99999}'], times: 99}]}",
         "the order has more than 1,000,000 names"),
    ],
)  # fmt: skip
def test_what_cannot_be_judged(check, said, judged):
    ((row,), _) = judged(check)
    assert (row.status, row.message) == ("error", said)


@pytest.mark.parametrize(
    ("check", "message", "place"),
    [
        ("{rule: firing_order, order: [{of: [a]}]}", "missing key 'times'", "order[0]"),
        ("{rule: firing_order, order: [{times: 2}]}", "missing key 'of'", "order[0]"),
        ("{rule: firing_order, order: [{of: [a], times: 0}]}",
         "times must be an integer between 1 and 1000000, got 0", "order[0].times"),
        ("{rule: firing_order, order: [3]}",
         "order[0] must be a name, a glob or {of, times}, got 3", "order[0]"),
        ("{rule: firing_order, order: []}", "order must not be empty", "order"),
        ("{rule: budget, exact: 1, flops: 2}", "exact must be true or false, got 1",
         "exact"),
        ("{rule: budget, parameters: 1.5}", "parameters must be an integer of at least 0, got 1.5",
         "parameters"),
        ("{rule: budget, flops: -1}", "flops must be an integer of at least 0, got -1",
         "flops"),
        ("{rule: output_shape, shape: [2], path: logits}", "'logits' is not a path within a value",
         "path"),
        ("{rule: firing_order, order: [a], kind: forwards}",
         "unknown kind 'forwards'", "kind"),
        ("{rul: finite}", "unknown key 'rul'", "rul"),
        ("{rule: budget, at: 3, flops: 2}", "at must be a glob of qualified names, got 3",
         "at"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_yaml_is_said_with_its_line(check, message, place):
    from hookcli.config.load import read_text
    from hookcli.errors import RequestError

    with pytest.raises(RequestError) as raised:
        read_text(f"checks:\n  - {check}\n", "checks.yaml")
    error = getattr(raised.value, "problems", (raised.value,))[-1 if "rul:" in check else 0]
    assert error.message == message
    assert error.place.startswith(f"checks.yaml:2: checks[0].{place}  |  ")
    assert error.hint
