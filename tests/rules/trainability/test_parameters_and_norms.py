"""`tied_weights`, `batch_norm_single` and `neutral`."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import hookcli
from tests.conftest import HEAD, run_cli
from tests.rules.trainability.models import only

IDS = torch.tensor([[1, 2, 3]])


class Language(nn.Module):
    """An embedding and a head, whose weights are one parameter, two, or two in one memory."""

    def __init__(self, how="apart"):
        super().__init__()
        self.embed, self.head = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)
        if how == "tied":
            self.head.weight = self.embed.weight
        if how == "memory":
            self.head.weight = nn.Parameter(self.embed.weight.data)
        if how == "frozen":
            self.head.weight = nn.Parameter(self.embed.weight.data, requires_grad=False)
            self.embed.requires_grad_(False)

    def forward(self, ids):
        return self.head(self.embed(ids))


NAMES = ["embed.weight", "head.weight"]


@pytest.mark.parametrize(
    ("how", "options", "status", "said"),
    [
        ("tied", {}, "pass", "1 parameter with several names"),
        ("apart", {}, "pass", "0 parameters"),
        ("frozen", {}, "pass", ""),
        (
            "memory",
            {},
            "fail",
            "'embed.weight' and 'head.weight' share memory, but are 2 parameters",
        ),
        ("tied", {"at": NAMES}, "pass", "2 names of 1 parameter"),
        ("apart", {"at": NAMES}, "fail", "'embed.weight' and 'head.weight' are not one parameter"),
        ("memory", {"at": NAMES}, "fail", "are not one parameter"),
        ("tied", {"at": NAMES, "tied": False}, "fail", "are one parameter, but must not be"),
        ("apart", {"at": NAMES, "tied": False}, "pass", "2 names of 2 parameters"),
        ("tied", {"at": ["*.weight", "none"]}, "error", "no parameter matches 'none'"),
    ],
)
def test_tied_weights(how, options, status, said):
    config = [{"rule": "tied_weights", **options}]
    row = only(hookcli.check(Language(how), config, inputs=IDS, rules=["tied_weights"]))
    assert (row.status, said in row.message) == (status, True), row.message


def test_weights_in_one_memory_are_a_diagnosis_of_grads():
    report = hookcli.grads(Language("memory"), IDS)
    assert [one.cause for one in report.diagnoses] == ["tied_weights"]
    assert hookcli.grads(Language("tied"), IDS).diagnoses == ()


class Settings:
    tie_word_embeddings = True


class Promising(Language):
    """It has the methods and the configuration of a model of transformers."""

    def __init__(self, how, heads=7):
        super().__init__(how)
        self.config = Settings()
        if heads != 7:
            self.head = nn.Linear(4, heads, bias=False)

    def tie_weights(self):
        self.head.weight = self.embed.weight

    def get_input_embeddings(self):
        return self.embed

    def get_output_embeddings(self):
        return self.head


@pytest.mark.parametrize(
    ("how", "heads", "status"), [("tied", 7, "pass"), ("apart", 7, "fail"), ("apart", 3, "pass")]
)
def test_a_configuration_that_promises_tied_embeddings_is_held_against_them(how, heads, status):
    row = only(hookcli.check(Promising(how, heads), inputs=IDS, rules=["tied_weights"]))
    assert row.status == status
    if status == "fail":
        said = (
            "tie_word_embeddings is true, but 'head.weight' and 'embed.weight' are two parameters"
        )
        assert (row.message, row.target) == (said, "head.weight")


@pytest.mark.parametrize(
    ("shape", "mode", "options", "status", "said"),
    [
        ((1, 4, 6, 6), "train", {}, "fail", "statistics of 1 sample in train mode, 36 values per"),
        ((2, 4, 6, 6), "train", {}, "pass", ""),
        ((2, 4, 1, 1), "train", {}, "pass", ""),
        ((2, 4, 1, 1), "train", {"values": 8}, "fail", "2 samples in train mode, 2 values per"),
        ((3, 4, 6, 6), "train", {"samples": 4}, "fail", "3 samples in train mode, 108 values"),
        ((1, 4, 6, 6), "eval", {}, "skip", "no batch norm ran in train mode"),
    ],
)
def test_batch_norm_single(shape, mode, options, status, said):
    net = nn.Sequential(nn.Identity(), nn.BatchNorm2d(4))
    config = [{"rule": "batch_norm_single", **options}]
    inputs = torch.randn(shape)
    row = only(hookcli.check(net, config, inputs=inputs, rules=["batch_norm_single"], mode=mode))
    assert (row.status, said in row.message) == (status, True), row.message
    assert row.target == ("1" if status == "fail" else "")


NOISE = """
example_inputs = torch.ones(2, 8)
def observes(module, args, output):
    torch.rand(3)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.drop = nn.Linear(8, 8), nn.Dropout(0.5)
    def forward(self, x):
        return self.drop(self.a(x))
"""


def test_the_rule_neutral_compares_with_runs_without_hooks(tmp_path):
    (tmp_path / "net.py").write_text(HEAD + NOISE)
    config = tmp_path / "checks.yaml"
    config.write_text(
        "model: net.py:Net\nhooks: [{kind: forward, at: a, do: {call: 'net.py:observes'}}]\n"
        "checks: [{rule: neutral}]\n"
    )
    done = run_cli("check", "-c", "checks.yaml", cwd=tmp_path)
    assert done.status == 1
    assert "error: not neutral: step 0 output" in " ".join(done.out.split())


def test_neutral_says_that_a_model_in_memory_was_not_compared():
    row = only(hookcli.check(Language(), inputs=IDS, rules=["neutral"]))
    assert row.status == "skip"


STEPS = {"steps": 4, "optimizer": {"name": "SGD", "lr": 1e-3}}


def norms_by_hand():
    """The norm of all gradients in each step, as clip_grad_norm_ returns it."""
    torch.manual_seed(0)
    net = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    norms = []
    for _ in range(4):
        optimizer.zero_grad()
        net(X).square().mean().backward()
        norms.append(float(nn.utils.clip_grad_norm_(net.parameters(), 1e9)))
        optimizer.step()
    return norms


X = torch.linspace(-3, 3, 20).view(5, 4)


@pytest.mark.parametrize(
    ("factor", "options", "status"),
    [(0.99, {}, "fail"), (1.01, {}, "pass"), (0.99, {"least": 5}, "skip")],
)
def test_the_norm_of_every_step_is_compared_with_the_limit(factor, options, status):
    norms = norms_by_hand()
    torch.manual_seed(0)
    net = nn.Linear(4, 3)
    check = {"rule": "gradient_clipping", "limit": factor * min(norms), **options}
    config, loss = {"run": STEPS, "checks": [check]}, lambda y: y.square().mean()
    row = only(hookcli.check(net, config, inputs=X, rules=["gradient_clipping"], loss=loss))
    assert row.status == status, row.message
    if status != "skip":
        assert row.value == pytest.approx(min(norms), rel=1e-5)


@pytest.mark.parametrize(
    ("action", "status"),
    [
        ({"clip_norm": 1e-3}, "fail"),
        ({"clip_norm": 1e9}, "pass"),
        ({"clamp": [-1e-4, 1e-4]}, "fail"),
        ({"scale": 0.5}, "skip"),
    ],
)
def test_a_hook_that_clips_in_every_step_is_found(action, status):
    hooks = [{"kind": "tensor", "at": "weight", "do": action}]
    config = {"run": STEPS, "hooks": hooks, "checks": [{"rule": "gradient_clipping"}]}
    net, loss = nn.Linear(4, 3), lambda y: y.square().mean()
    row = only(hookcli.check(net, config, inputs=X, rules=["gradient_clipping"], loss=loss))
    assert (row.status, row.target) == (status, "weight" if status == "fail" else "")
