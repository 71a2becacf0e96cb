"""`hooks_fired` and `hook_misuse`: planted faults by name, and what only looks like them."""

from __future__ import annotations

import pytest

from tests.conftest import HEAD
from tests.rules.judging import failed, judge, rows

NET = (
    HEAD
    + """
example_inputs = torch.linspace(-1, 1, 16).view(2, 8)


class Both(nn.Module):
    def forward(self, x):
        return {"a": x * 2, "b": x + 1}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.both = Both()
        self.b = nn.Linear(8, 4)
        self.spare = nn.Linear(2, 2)
        self.still = nn.Linear(8, 8).requires_grad_(False)

    def forward(self, x):
        h = self.both(self.a(self.still(x)))
        return self.b(h["a"] + h["b"])
"""
)
HOOKS = """
kept = []


def nothing(module, args, output):
    return None


def half(module, args, output):
    return output * 0.5


def in_place(module, args, output):
    output.mul_(0.5)


def text(module, args, output):
    return "half"


def hold(module, args, output):
    kept.append(output)


def number(module, args, output):
    kept.append(float(output.detach().sum()))


def grad_in_place(grad):
    grad.mul_(0.5)


def grad_wrong_shape(grad):
    return grad[:1]


def grad_half(grad):
    return grad * 0.5


def after(parameter):
    parameter.grad = None


def pre(module, args):
    return (args[0] * 1.0,)
"""


@pytest.fixture
def judged(tmp_path):
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "hooks_of_mine.py").write_text(HOOKS)

    def judging(hook):
        hook = hook.replace("hooks.py", str(tmp_path / "hooks_of_mine.py"))
        return judge(f"{tmp_path / 'net.py'}:Net", f"hooks:\n  - {hook}\nchecks: [{CHECK}]")

    return judging


# torch's own, of full backward hooks
pytestmark = [
    pytest.mark.filterwarnings("ignore:Full backward hook is firing:UserWarning"),
    pytest.mark.filterwarnings("ignore:For backward hooks to be called:UserWarning"),
]
CHECK = "{rule: hook_misuse}"
NEVER = [
    ("{kind: forward, at: spare, do: record}", "the module never ran"),
    ("{kind: full_backward, at: both, do: record}",
     "only if the output is a tensor or a flat tuple of tensors"),
    ("{kind: post_accumulate_grad, at: spare.weight, do: record}", "no gradient reached it"),
    ("{kind: tensor, at: 'spare:output', do: record}", "no gradient reached it"),
    ("{kind: forward, at: a, calls: [3], do: record}", "no firing matches its calls, steps or"),
    ("{kind: node, at: {node: SoftmaxBackward0}, do: record}", "no SoftmaxBackward0 ran ("),
]  # fmt: skip
FIRES = [
    "{kind: forward, at: a, do: record}",
    "{kind: forward, at: '*', do: record}",
    "{kind: tensor, at: 'both:output.a', do: record}",
    "{kind: full_backward, at: '[ab]', do: record}",
    "{kind: post_accumulate_grad, at: '*', do: record}",
    "{kind: forward, at: a, calls: [0], do: record}",
]
MISUSED = [
    ("{kind: forward, at: a, do: {call: 'hooks.py:in_place'}}", "a", "changed its argument"),
    ("{kind: tensor, at: a.weight, do: {call: 'hooks.py:grad_in_place'}}", "a.weight",
     "other gradients that share it"),
    ("{kind: tensor, at: a.weight, do: {call: 'hooks.py:grad_wrong_shape'}}", "a.weight",
     "must return float32 of shape [8, 8], got float32 of shape "),
    ("{kind: forward, at: a, do: {call: 'hooks.py:hold'}}", "a", "keeps a tensor alive"),
]  # fmt: skip
USED = [
    "{kind: forward, at: a, do: {call: 'hooks.py:half'}}",
    "{kind: forward, at: a, do: {call: 'hooks.py:nothing'}}",
    "{kind: forward, at: a, do: {call: 'hooks.py:number'}}",
    "{kind: forward_pre, at: b, do: {call: 'hooks.py:pre'}}",
    "{kind: tensor, at: a.weight, do: {call: 'hooks.py:grad_half'}}",
    "{kind: forward, at: a, do: {scale: 0.5}}",
]


@pytest.mark.parametrize(("hook", "why"), NEVER)
def test_a_hook_that_never_fires_is_told_with_its_line(hook, why, judged):
    report = judged(hook)
    (row,) = rows(report, "hooks_fired")
    assert (row.status, row.severity) == ("fail", "error")
    assert why in row.message, row.message
    assert row.place == "checks.yaml:2: hooks[0]"


@pytest.mark.parametrize("hook", FIRES)
def test_a_hook_that_fires_is_none(hook, judged):
    (row,) = rows(judged(hook), "hooks_fired")
    assert row.status == "pass", row.message


@pytest.mark.parametrize(("hook", "target", "said"), MISUSED)
def test_a_misuse_is_told_with_its_line(hook, target, said, judged):
    (row,) = rows(judged(hook), "hook_misuse")
    assert (row.status, row.target) == ("fail", target)
    assert said in row.message, row.message
    assert row.place == "checks.yaml:2: hooks[0]"


@pytest.mark.parametrize("hook", USED)
def test_a_use_is_none(hook, judged):
    report = judged(hook)
    assert not {rule for rule, _ in failed(report)} & {"hooks_fired", "hook_misuse"}


def test_a_severity_of_the_check_s_own_holds(judged):
    (row,) = rows(judged(MISUSED[0][0]), "hook_misuse")
    assert row.severity == "error"


OFTEN = (
    HEAD
    + """
from torch.utils.checkpoint import checkpoint
example_inputs = torch.ones(2, 8, requires_grad=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.spare = nn.Linear(8, 8)

    def forward(self, x):
        BODY
        return x
"""
)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("x = self.fc(x); self.fc._forward_hooks.clear(); x = self.fc(self.fc(x))",
         "kind forward fired 1 time, but the module ran 3 times"),
        ("self.fc._forward_hooks.clear(); self.spare(x); x = self.fc(x)",
         "kind forward fired 0 times, but the module ran 1 time"),
    ],
)  # fmt: skip
def test_a_forward_hook_that_misses_calls_is_found(tmp_path, body, said):
    (tmp_path / "net.py").write_text(OFTEN.replace("BODY", body))
    report = judge(tmp_path / "net.py", "hooks: [{kind: forward, at: '?*', do: record}]")
    (row,) = rows(report, "hooks_fired")
    assert (row.status, row.target) == ("fail", "fc")
    assert row.message.startswith(said)


@pytest.mark.parametrize(
    ("body", "more"),
    [
        ("x = self.fc(self.fc(x))", ""),
        ("x = checkpoint(self.fc, x, use_reentrant=False)", ""),
        ("x = self.fc(self.fc(x))", ", calls: [0]"),
        (
            """try:
            self.fc(x[:, :3])
        except RuntimeError:
            x = self.fc(x)""",
            "",
        ),
    ],
)
def test_one_that_fires_for_every_call_or_is_told_which_is_not(tmp_path, body, more):
    (tmp_path / "net.py").write_text(OFTEN.replace("BODY", body))
    hooks = f"hooks: [{{kind: forward, at: '?*', do: record{more}}}]"
    (row,) = rows(judge(tmp_path / "net.py", hooks), "hooks_fired")
    assert row.status == "pass"
