"""The parts of a loss, with plain values: targets, roles of parameters, starts of backward."""

from __future__ import annotations

import inspect
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F

from hookcli.engine.batch.fake_checks import is_inconclusive
from hookcli.engine.losses import criterion
from hookcli.engine.losses.made_targets import CTC_PARTS, complete_sequences, made_target
from hookcli.engine.losses.named import NamedCriterion
from hookcli.engine.losses.of_output import at, probe
from hookcli.engine.losses.own_of_model import LabelsCriterion, TrainingStepCriterion
from hookcli.engine.losses.user_function import FunctionCriterion, roles_of
from hookcli.errors import ModelError, RequestError
from hookcli.models.batch import Batch, LossTarget
from hookcli.spec.losses import parse_named_loss


def silent(_):
    """Ignore a note."""


def named(text):
    return NamedCriterion(text, parse_named_loss(text), silent, seed=0)


def with_target(value):
    return Batch(target=LossTarget(value, "given"))


# Targets ------------------------------------------------------------------------------------------

LOGS = torch.randn(12, 2, 5, generator=torch.Generator().manual_seed(0)).log_softmax(-1)
LABELS = torch.tensor([[1, 2, 3], [4, 1, 0]])
LENGTHS = (torch.tensor([12, 10]), torch.tensor([3, 2]))


@pytest.mark.parametrize("make", [lambda t: dict(zip(CTC_PARTS, t, strict=True)), tuple, list])
def test_ctc_takes_three_parts_by_name_or_in_order(make):
    expected = F.ctc_loss(LOGS, LABELS, *LENGTHS)
    found = named("ctc").loss(LOGS.clone().requires_grad_(), with_target(make((LABELS, *LENGTHS))))
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)


@pytest.mark.parametrize(
    "target", [(LABELS,), {"targets": LABELS}, "text", {**dict.fromkeys(CTC_PARTS, LABELS), "x": 1}]
)
def test_what_is_no_target_of_ctc_is_refused(target):
    assert complete_sequences(LOGS, target) is None
    with pytest.raises(RequestError, match="must be a tensor, or a mapping of targets,") as caught:
        named("ctc").loss(LOGS.clone().requires_grad_(), with_target(target))
    assert str(caught.value).endswith(f"got {type(target).__name__}")


def test_a_loss_of_one_target_refuses_several():
    with pytest.raises(RequestError, match="the target of mse must be one tensor, got tuple"):
        named("mse").loss(torch.ones(2, requires_grad=True), with_target((LABELS, LABELS)))


@pytest.mark.parametrize(
    ("kind", "shape", "expected"),
    [("label_lists", (), -1), ("label_lists", (3, 0), None), ("distribution", (), None)],
)
def test_a_made_up_target_of_an_output_without_classes_has_its_shape(kind, shape, expected):
    made = made_target(kind, [torch.ones(shape)], {}, 0)
    assert made.shape == shape
    assert expected is None or made.item() == expected


def test_the_hint_of_a_loss_that_torch_refuses_names_no_target_if_there_are_several_parts():
    wrong = (LABELS, torch.tensor([99, 99]), LENGTHS[1])
    with pytest.raises(ModelError) as caught:
        named("ctc").loss(LOGS.clone().requires_grad_(), with_target(wrong))
    assert caught.value.hint.startswith("compare the output ")
    assert "target" not in caught.value.hint.partition(", or pass")[0]


def test_what_fake_tensors_cannot_compute_is_no_error_of_the_loss():
    with FakeTensorMode(allow_non_fake_inputs=True):
        output = torch.ones(12, 2, 5, requires_grad=True)
        with pytest.raises(RuntimeError) as caught:
            named("ctc").loss(output, with_target((LABELS, *LENGTHS)))
    assert is_inconclusive(caught.value)
    assert not isinstance(caught.value, ModelError)


def test_a_loss_without_a_kernel_for_the_dtype_is_an_error_of_the_loss():
    output = torch.ones(2, requires_grad=True).to(torch.float8_e4m3fn)
    with pytest.raises(ModelError, match=r"NotImplementedError: .* not implemented") as caught:
        named("mse").loss(output, with_target(torch.ones(2).to(torch.float8_e4m3fn)))
    assert caught.value.hint.startswith("compare the output float8_e4m3fn [2] with the target ")


# Functions of the user's --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "positional", "keyword"),
    [
        (lambda out, scale=1.0, target=None: out, ["output"], {"target": "target"}),
        (lambda out, *, target: out, ["output"], {"target": "target"}),
        (lambda out, *, labels=None, size=3: out, ["output"], {"labels": "target"}),
        (lambda *, pred, batch: pred, [], {"pred": "output", "batch": "batch"}),
    ],
)
def test_a_parameter_after_a_gap_or_a_star_gets_its_value_by_keyword(function, positional, keyword):
    roles = roles_of(list(inspect.signature(function).parameters.values()), has_target=True)
    assert (roles.positional, roles.keyword) == (positional, keyword)


@pytest.mark.parametrize("function", [lambda: 1, lambda *, size=2: size, lambda *, target: target])
def test_a_loss_that_cannot_get_the_output_is_refused(function):
    loss = FunctionCriterion(function, "own", "--loss own", silent)
    batch = with_target(torch.ones(2))
    with pytest.raises(RequestError, match=r"own must have the parameters \(output\)"):
        loss.loss(torch.ones(2, requires_grad=True), batch)


@pytest.mark.parametrize(
    ("function", "batch", "expected"),
    [(torch.mean, Batch(), 1.5), (torch.dist, with_target(torch.zeros(2)), 5**0.5)],
)
def test_a_function_of_unknown_signature_gets_the_output_and_the_target(function, batch, expected):
    with pytest.raises(ValueError, match="signature"):
        inspect.signature(function)
    output = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = FunctionCriterion(function, "own", "--loss own", silent).loss(output, batch)
    assert loss.item() == pytest.approx(expected)


# Where backward starts ----------------------------------------------------------------------------


def test_a_part_of_the_output_must_exist_and_require_grad():
    output = {"a": torch.ones(2, requires_grad=True), "b": torch.ones(2)}
    assert at(output, "a", "loss") is output["a"]
    with pytest.raises(ModelError, match="output:b does not require grad"):
        at(output, "b", "loss")
    with pytest.raises(RequestError, match="the output has no tensor at 'c'") as caught:
        at(output, "c", "loss")
    assert caught.value.hint == "choose from .a, .b"
    with pytest.raises(RequestError) as caught:
        at({"a": 1}, "a", "loss")
    assert caught.value.hint == "return a tensor from forward"


def test_the_probe_of_an_output_in_one_byte_is_that_of_its_values():
    x = torch.tensor([[1.0, 2.0], [-0.5, 4.0]], requires_grad=True)
    wide = probe(x, silent, seed=0, values=True)
    narrow = probe(x.to(torch.float8_e4m3fn), silent, seed=0, values=True)
    assert narrow.item() == pytest.approx(wide.item())
    narrow.backward()
    assert bool(x.grad.all())


@pytest.mark.parametrize("own", [True, False])
def test_the_loss_of_labels_is_an_entry_or_the_first_of_a_tuple(own):
    loss = torch.tensor(3.0, requires_grad=True)
    output = {"loss": loss, "logits": torch.ones(2)} if own else (loss[None], torch.ones(2))
    found = LabelsCriterion().loss(output, Batch())
    assert (found.item(), found.shape, found.requires_grad) == (3.0, (), True)


@pytest.mark.parametrize("output", [(), (torch.ones(2),), {"logits": torch.ones(1)}, ("text",)])
def test_a_model_that_got_labels_but_returns_no_loss(output):
    with pytest.raises(ModelError, match="its output contains no loss"):
        LabelsCriterion().loss(output, Batch())


class Lit(nn.Module):
    """A model that counts its steps, as if Lightning's base class had the counter."""

    def training_step(self, batch, batch_idx):
        self.global_step = self.global_step + 1
        self.log("loss", 1.0)
        return batch.sum()


def test_a_training_step_has_stand_ins_that_end_with_it():
    net = Lit()
    model = SimpleNamespace(root=net, wrapper=None)
    assert TrainingStepCriterion().forward(model, Batch((torch.ones(3),))).item() == 3.0
    assert net.global_step == 1  # its own now
    assert not {"log", "log_dict", "current_epoch", "trainer", "logger"} & set(vars(net))


def test_a_training_step_does_not_run_wrapped_for_several_ranks():
    with pytest.raises(RequestError, match="cannot be combined with DistributedDataParallel"):
        TrainingStepCriterion().forward(SimpleNamespace(root=Lit(), wrapper=object()), Batch())


def test_a_loss_depends_on_the_output_that_it_is_or_is_computed_from(monkeypatch):
    output, other = torch.ones((), requires_grad=True), torch.ones((), requires_grad=True)
    assert criterion.depends_on(output, [output])
    assert criterion.depends_on(output * 2, [output])
    long = other
    for _ in range(5):
        long = long * 2
    assert not criterion.depends_on(long, [output])
    monkeypatch.setattr(criterion, "_MOST_NODES", 3)
    assert criterion.depends_on(long, [output])  # too long to tell
