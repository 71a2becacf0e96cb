"""The probes of rules, called with plain models and tensors: what they measure of rare cases."""

from __future__ import annotations

import math
import weakref
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.probes import probes, rerun
from hookcli.engine.probes.activations import functions, masks, ranges
from hookcli.engine.probes.activations.functions import RELU, SIGMOID, Softmax
from hookcli.engine.probes.activations.layers import layer_behind
from hookcli.engine.probes.activations.observer import ActivationObserver
from hookcli.engine.probes.activations.outputs import ConstantOutputs, _tests, _varies
from hookcli.engine.probes.context import LostGradients
from hookcli.engine.probes.determinism import change, compare, repeat
from hookcli.engine.probes.function_calls import RunningCalls
from hookcli.engine.probes.gradients.cuts import cuts
from hookcli.engine.probes.non_finite import Values
from hookcli.engine.probes.samples.batch_growth import _Shapes
from hookcli.engine.probes.samples.batch_independence import samples
from hookcli.engine.probes.trainability import loss_graph
from hookcli.engine.probes.trainability.causality import causality
from hookcli.engine.probes.trainability.eval_forward import eval_forward
from hookcli.engine.probes.trainability.unregistered import UnregisteredParameters
from hookcli.models.backend import backend_of
from hookcli.models.batch import as_batch
from hookcli.rules.activations.measured import ONE_HOT
from hookcli.spec.plan import plan
from tests.hooks.running import spec_of
from tests.rules.activations.measuring import measure
from tests.torch_version import needs_torch

LOW = -1e38
saves = needs_torch("2.10", "what operators saved")


class Of(nn.Module):
    """A model whose forward is a function, and that may have modules."""

    def __init__(self, function, **modules):
        super().__init__()
        self.function = function
        for name, module in modules.items():
            self.add_module(name, module)

    def forward(self, x):
        return self.function(x)


def again(model, x, *, device="cpu", **how):
    """A Rerun of a model, or of a function as a model."""
    root = model if isinstance(model, nn.Module) else Of(model)
    return rerun.Rerun(backend_of(root), as_batch(x), plan(spec_of((), **how)), device)


def values(measurements):
    return [(row.target, row.value) for row in measurements]


def call(module=None, **more):
    known = {"order": 0, "name": "fc", "type": "Linear", "index": 0, "parent": None, "late": None}
    known |= {"recomputed": False, "module": module or nn.Linear(2, 2), "graded": False}
    return SimpleNamespace(**known | more)


def randn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


# Masks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mask", "found"),
    [
        (torch.tensor([[True, True], [False, False]]), 1),
        (torch.tensor([[LOW, LOW], [LOW, LOW]]), None),  # float32 has values far below
        (torch.full((2, 2), -math.inf), 2),
        (torch.ones(2, 2, dtype=torch.uint8), None),  # torch does not take it for a mask
        (torch.ones(2, 2, dtype=torch.bool, device="meta"), None),
    ],
)
def test_a_mask_of_samples_is_empty_if_torch_takes_all_of_a_row_for_masked(mask, found):
    x = randn(2, 2, 4)
    facts = masks.of_arguments(nn.MultiheadAttention(4, 1), ((x, x, x), {"key_padding_mask": mask}))
    wanted = {"mask": "key_padding_mask", "masked": found, "rows": 2, "what": "sample"}
    assert facts == (None if found is None else wanted)


@saves
@pytest.mark.parametrize(("shape", "masked"), [((3, 1, 2, 5), 1), ((2, 5), None)])
def test_the_mask_of_a_fused_attention_is_read(shape, masked):
    mask = torch.zeros(shape)
    mask[:1] = -math.inf if masked else 0.0
    q = randn(3, 1, 2, 8).requires_grad_()
    k = v = randn(3, 1, 5, 8)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    node = out.grad_fn
    if node.name() not in masks.FUSED:
        pytest.skip(f"this machine runs {node.name()}")
    wanted = {"mask": "attn_mask", "masked": masked, "rows": 3, "what": "sample"}
    assert masks.of_fused(node) == (wanted if masked else None)


def softmax_of(scores):
    return masks.of_softmax(scores.softmax(-1).grad_fn)


def product(length=3, keys=3):
    return randn(2, length, 4).requires_grad_() @ randn(2, 4, keys).requires_grad_()


@saves
def test_a_mask_that_was_added_is_empty_only_if_all_queries_of_a_sample_are():
    added = torch.zeros(2, 1, 1)
    added[1] = LOW
    facts = {"mask": "added mask", "masked": 1, "rows": 2, "what": "sample"}
    assert softmax_of(product() + added) == facts
    assert softmax_of(product() + torch.zeros(2, 1, 1)) is None
    # Of many queries a few are looked at first, here those that are masked.
    odd = torch.zeros(1, 128, 1)
    odd[:, 1::2] = LOW
    assert softmax_of(product(128) + odd) is None
    freed = (product() + added).softmax(-1)
    node = freed.grad_fn
    freed.untyped_storage().resize_(0)
    assert masks.of_softmax(node) is None


@saves
def test_a_filled_mask_counts_only_if_it_has_the_keys():
    scores = product()
    padding = torch.tensor([False, True])[:, None, None]
    filled = {"mask": "masked_fill", "masked": 1, "rows": 2, "what": "sample"}
    assert softmax_of(scores.masked_fill(padding.expand(2, 3, 3), LOW)) == filled
    assert softmax_of(scores.masked_fill(padding, LOW)) is None  # of queries
    for _ in range(7):
        scores = scores * 1.0
    assert softmax_of(scores) is None  # the product is too far


# Activations --------------------------------------------------------------------------------------


@pytest.mark.parametrize("exact", [True, False])
def test_an_activation_without_values_has_no_facts(exact):
    empty = torch.ones(0, 3)
    assert functions.dead_units(empty, RELU, 1, exact=exact) is None
    assert functions.saturated(empty, SIGMOID, exact=exact) is None
    assert functions.one_hot(empty, Softmax("softmax", 1), exact=exact) is None
    assert functions.one_hot(torch.tensor(1.0), Softmax("softmax", 0), exact=exact) is None


def test_the_layer_of_an_activation_is_found_behind_a_few_operators_only():
    linear = y = nn.Linear(2, 2)(torch.ones(1, 2))
    for _ in range(7):
        y = y.relu()
    assert layer_behind(y.relu().grad_fn) == (linear.grad_fn, -1)
    assert layer_behind(y.relu().relu().grad_fn) == (None, None)


def test_the_range_of_a_tensor_ignores_what_cannot_be_read_and_what_is_not_finite():
    assert ranges.range_of(torch.ones(2, device="meta"), 1.0) is None
    assert ranges.range_of(torch.ones(0), 1.0) is None
    facts = ranges.range_of(torch.tensor([0.0, 0.5, -3.0, math.inf, math.nan]), 1.0)
    assert facts == {"abs_max": 3.0, "values": 2, "tiny": 1}


class Half(nn.Module):
    """Has a parameter without gradient, and one without elements."""

    def __init__(self):
        super().__init__()
        self.used = nn.Parameter(torch.tensor([1.0, 2.0]))
        self.unused = nn.Parameter(torch.tensor([1e-9]))
        self.empty = nn.Parameter(torch.ones(0))


def test_ranges_are_those_of_leaf_modules_parameters_and_gradients_that_exist():
    rows, net = [], Half()
    observer = ranges.RangeObserver(rows, "float16", 8.0)
    observer.begin(backend_of(net))
    (net.used * 3).sum().backward()
    net.empty.grad = torch.ones(0)
    observer.gradients(backend_of(net))
    outer = nn.Sequential(nn.ReLU())
    observer.leave(call(outer, parent=7, name="outer"), torch.ones(1), None)
    observer.leave(call(name="broken"), torch.ones(1), ValueError())
    observer.leave(call(name="again", recomputed=True), torch.ones(1), None)
    observer.leave(call(name="fc", parent=7), torch.tensor([5.0]), None)
    observer.complete()
    found = {(row.value.get("at"), row.target): row.value.get("abs_max") for row in rows[1:]}
    assert found == {
        ("parameter", "used"): 2.0,
        ("parameter", "unused"): pytest.approx(1e-9),
        ("gradient", "used"): 24.0,
        ("output", "fc"): 5.0,
    }


def test_the_spread_is_that_of_the_first_finite_output_of_a_layer():
    rows, layer = [], nn.Linear(2, 2)
    observer = ranges.SpreadObserver(rows)
    nan = torch.tensor([math.nan, 1.0])
    first = torch.tensor([1.0, 3.0])
    observer.leave(call(layer), torch.ones(2), ValueError())
    observer.leave(call(layer), nan, None)
    observer.leave(call(layer, order=1), first, None)
    observer.leave(call(layer, order=2), first * 9, None)
    observer.leave(call(layer, name=None), first, None)
    observer.complete()
    assert [(row.target, row.value["mean"], row.value["order"]) for row in rows] == [("fc", 2.0, 1)]
    assert rows[0].value["std"] == pytest.approx(first.std().item())


def test_inputs_vary_only_if_they_are_alive_and_readable():
    assert _varies(torch.tensor([[1], [2]]), 2)
    assert not _varies(torch.tensor([[1], [1]]), 2)
    assert not _varies(torch.tensor([[1], [2]]), 3)
    plain, odd = torch.ones(2), [torch.ones(2) * 1j, torch.ones(0)]
    gone = weakref.ref(torch.ones(2))
    assert gone() is None
    refs = [gone, *map(weakref.ref, odd), weakref.ref(plain)]
    assert list(_tests(refs, lambda x: x is not None)) == [True]


def test_a_layer_of_integers_is_constant_if_its_integers_differ():
    found = ConstantOutputs()
    ids = torch.tensor([[1, 2], [3, 4]])
    one = call(nn.Linear(2, 4))
    found.enter(one, ((ids,), {}))
    assert found.of_layer(one, torch.ones(2, 4)) == (
        "constant", {"samples": 2, "weights_zero": False},
    )  # fmt: skip
    found.enter(one, ((ids[:1].expand(2, 2),), {}))
    assert found.of_layer(one, torch.ones(2, 4)) is None


def test_activations_of_a_later_step_name_it():
    rows = []
    net = backend_of(nn.Sequential(nn.Linear(2, 4), nn.Sigmoid()))
    observer = ActivationObserver(rows, exact=False)
    observer.begin(net)
    for _ in range(2):
        with net.observe(observer.enter, observer.leave):
            out = net.root(randn(3, 2))
        observer.graph(out.sum(), NodeOwners())
        observer.gradients(net)
        nn.init.constant_(net.root[0].weight, 1e4)
    observer.complete()
    found = {(row.target, row.value.get("step")) for row in rows if row.value.get("flat")}
    assert found == {("1", 1)}


@pytest.mark.filterwarnings("ignore:Implicit dimension choice for softmax")
@pytest.mark.parametrize(("dim", "functions"), [(1, ["softmax"]), (None, [])])
def test_a_softmax_that_chooses_its_own_dimension_is_not_measured(dim, functions):
    rows = measure(nn.Sequential(nn.Linear(2, 4), nn.Softmax(dim)), randn(3, 2), ONE_HOT)
    assert [row["function"] for row in rows] == functions


# Runs that are compared ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (torch.ones(2), torch.ones(3), math.inf),
        (torch.ones(2), torch.ones(2).double(), math.inf),
        (torch.ones(0), torch.ones(0), 0.0),
        (torch.eye(2).to_sparse(), torch.eye(2).to_sparse(), 0.0),
        (torch.eye(2).to_sparse(), (2 * torch.eye(2)).to_sparse(), math.inf),
        (torch.tensor([4.0, 1.0]), torch.tensor([4.0, 2.0]), 0.25),
        (torch.zeros(1), torch.ones(1), math.inf),
    ],
)
def test_the_change_is_relative_and_infinite_if_tensors_cannot_be_compared(before, after, expected):
    assert change(before, after) == expected
    assert compare({"": before}, {"": after})["differ"] == ([] if expected == 0 else ["output"])


@pytest.mark.parametrize(("backward", "compared"), [(True, 2), (False, 1)])
def test_a_training_run_is_compared_with_the_gradients_that_it_has(backward, compared):
    net = Of(lambda x: net.fc(x), fc=nn.Linear(2, 2, bias=False), unused=nn.Linear(2, 2))
    command = "grads" if backward else "inspect"
    found = repeat(again(net, torch.ones(1, 2), command=command), "train")
    assert (found["compared"], found["differ"]) == (compared, [])


def test_a_batch_is_moved_to_the_device_of_the_run():
    [found] = again(nn.Identity(), torch.ones(4, 2), device="meta").forward("eval").values()
    assert (found.device.type, found.shape) == ("meta", (4, 2))


def test_a_training_run_needs_memory_for_a_copy_of_the_parameters(monkeypatch):
    net = nn.Linear(2, 2)
    run = again(net, torch.ones(1, 2))
    before = net.weight.detach().clone()
    with run.training("train"):
        net.weight.data.zero_()
    assert torch.equal(net.weight, before)
    monkeypatch.setattr(rerun, "available", lambda: 8)
    with pytest.raises(MemoryError), run.training("train"):
        pass


def causal(model, x, dim=1, **how):
    return causality(again(model, x), dim=dim, **{"input": None, "output": None} | how)


def test_causality_needs_runs_that_are_equal_and_shapes_that_stay():
    ran = []

    def counts(x):
        ran.append(1)
        return x + len(ran)

    x = randn(2, 6)
    assert causal(counts, x) == {"why": "two runs with the same seed differ"}
    assert causal(lambda x: x.flip(1).cumsum(1), x)["relative"] > 0.1


def test_causality_of_an_output_whose_shape_depends_on_later_inputs():
    x = torch.tensor([[1.0, 2.0, 3.0, 9.0]])

    def cut(x):
        return x[x[:, -1] > 5] if x.shape[1] == 4 else x

    assert causal(cut, x) == {"why": "the shape of output depends on later inputs"}


@pytest.mark.parametrize(
    "x", [torch.ones(2, 5), randn(2, 5) * 1j, randn(2, 5)], ids=["constant", "complex", "real"]
)
def test_causality_replaces_inputs_of_each_sort(x):
    mirrored = causal(lambda x: (x.flip(1).cumsum(1) + x.flip(1)).abs().float(), x)
    assert mirrored["relative"] > 1e-3
    assert causal(lambda x: x.cumsum(1).abs().float(), x)["relative"] == 0.0


NARROW = [torch.float8_e4m3fn, torch.float8_e5m2, torch.uint16, torch.uint32, torch.uint64]


@pytest.mark.parametrize("dtype", NARROW)
def test_causality_replaces_inputs_in_which_torch_does_not_compute(dtype):
    x = torch.arange(1, 13).view(2, 6).float().to(dtype)
    assert causal(lambda x: x.float().cumsum(1), x)["relative"] == 0.0
    assert causal(lambda x: x.float().flip(1).cumsum(1), x)["relative"] > 0.1


def test_an_output_that_loses_its_time_with_shorter_inputs_is_not_compared():
    def squeezed(x):
        return {"y": x.cumsum(1), "last": x[:, 4:].squeeze(1) if x.shape[1] == 5 else x.sum()}

    assert causal(squeezed, randn(2, 5))["outputs"] == [".y"]


def of_samples(model, x, dim=0):
    return samples(again(model, x), dim)


TWO = torch.tensor([[1.0, -2.0, 3.0], [4.0, 5.0, 6.0]])


def positive(x):
    return x[:, x.amax(0) > 0]


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (lambda x: x.argmax(1), "no output has floating-point values to compare"),
        (positive, "the shape of output depends on the other samples"),
        (
            lambda x: x[0] if len(x) == 2 else x,
            "the batch dimension is unknown: output does not grow with the samples along "
            "dimension 0",
        ),
        # The values depend on the size of the batch, and then the shape on the last sample.
        (
            lambda x: (x + len(x))[:, : 1 if len(x) == 2 and x.sum() > 25 else 3],
            "the shape of output depends on the other samples",
        ),
    ],
)
def test_samples_cannot_be_compared_if_outputs_have_other_shapes(model, why):
    assert of_samples(model, TWO) == {"why": why}


def test_late_arguments_are_inputs_of_a_call():
    x, y = torch.ones(2, 3), torch.ones(2, 3, 4)
    shapes = _Shapes(0, 1)
    one = call(late={"mask": y})
    shapes.enter(one, ((x,), {}))
    shapes.leave(one, x, None)
    assert shapes.measurements[0].value["input"] == {"[0]": [2, 3], ".mask": [2, 3, 4]}


# Values that are not finite -----------------------------------------------------------------------


def test_late_arguments_that_are_not_finite_are_found():
    rows = []
    one = call(late={"mask": torch.tensor([math.nan])})
    found = Values(rows)
    found.enter(one, ((torch.ones(1),), {}))
    found.leave(one, torch.ones(1), None)
    assert [(row.target, row.value["at"], row.value["nans"]) for row in rows] == [
        ("fc", "input", 1)
    ]


def test_the_notes_of_values_that_are_not_finite_are_limited(monkeypatch):
    monkeypatch.setattr("hookcli.engine.probes.non_finite._MOST", 2)
    net = backend_of(nn.Linear(2, 2))
    rows = []
    found = Values(rows)
    for parameter in net.root.parameters():
        parameter.grad = torch.full_like(parameter, math.nan)
    found.begin(net)
    found.gradients(net)
    nn.init.constant_(net.root.weight, math.inf)  # the optimizer's step
    found.enter(call(), ((torch.full((1,), math.inf),), {}))
    made = torch.ones(1, requires_grad=True) * 2
    found.leave(call(graded=True), made, None)
    (made * math.inf).backward()
    found.complete()
    assert [row.target for row in rows[1:]] == ["bias", "weight"]
    assert {row.value["at"] for row in rows[1:]} == {"parameter_gradient"}


# Losses and parameters ----------------------------------------------------------------------------


def graph_of(loss, *probes):
    rows = []
    observer = loss_graph.LossGraph(rows, probes or (loss_graph.TERMS, loss_graph.PROBABILITIES))
    observer.graph(loss, NodeOwners())
    return rows, observer


def bce(target=None):
    target = torch.ones(2) if target is None else target
    return F.binary_cross_entropy_with_logits(randn(2).requires_grad_().sigmoid(), target)


def test_each_probe_of_the_loss_is_measured_alone_and_in_the_first_step():
    rows, observer = graph_of(bce(), loss_graph.TERMS)
    assert [row.probe for row in rows] == [loss_graph.TERMS]
    assert [row.probe for row in graph_of(bce(), loss_graph.PROBABILITIES)[0]] == [
        loss_graph.PROBABILITIES
    ]
    observer.graph(bce(), NodeOwners())
    assert len(rows) == 1


def test_a_loss_whose_input_is_a_constant_has_a_term_and_no_probabilities():
    target = torch.rand(2).requires_grad_()
    loss = F.binary_cross_entropy_with_logits(torch.ones(2), target)
    assert [row.probe for row in graph_of(loss)[0]] == [loss_graph.TERMS]


def test_the_terms_and_the_nodes_of_a_loss_are_limited(monkeypatch):
    loss = sum((bce() for _ in range(25)), torch.zeros(()))
    assert len(graph_of(loss, loss_graph.TERMS)[0]) == 20
    monkeypatch.setattr(loss_graph, "_MOST_NODES", 1)
    assert graph_of(loss, loss_graph.TERMS)[0] == []


def unregistered(net, x):
    rows = []
    model = backend_of(net)
    observer = UnregisteredParameters(rows)
    observer.begin(model)
    with model.observe(observer.enter, observer.leave):
        out = model.root(x)
    observer.graph(out.sum(), NodeOwners())
    return [(row.target, row.value) for row in rows]


@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_a_parameter_that_forward_makes_is_no_copy_of_an_uninitialized_one():
    net = Of(lambda x: x * nn.Parameter(torch.ones(2)), lazy=nn.LazyLinear(2))
    assert unregistered(net, torch.ones(1, 2)) == [
        ("model", {"kind": "made in forward", "count": 1})
    ]


def test_a_parameter_in_a_list_is_found_beside_a_layer_without_bias():
    net = Of(lambda x: net.fc(x) * net.kept[0], fc=nn.Linear(2, 2, bias=False))
    net.kept = [nn.Parameter(torch.ones(2))]
    assert unregistered(net, torch.ones(1, 2)) == [("kept", {"kind": "list", "count": 1})]


def test_the_state_before_a_run_is_restored_if_it_was_copied_and_fits(monkeypatch):
    net = nn.Linear(2, 2)
    start = {name: p.detach().clone() for name, p in net.named_parameters()}
    state = probes.StartState()
    state.begin(backend_of(net))
    nn.init.zeros_(net.weight)
    net.bias.data = torch.ones(5)
    state.restore()
    assert torch.equal(net.weight, start["weight"])
    assert net.bias.shape == (5,)
    monkeypatch.setattr(probes, "available", lambda: 8)
    state.begin(backend_of(net))
    nn.init.zeros_(net.weight)
    state.restore()
    assert not net.weight.any()


class Attends(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, x):
        return F.scaled_dot_product_attention(x, x, x, **self.options)


@pytest.mark.parametrize(("options", "found"), [({}, []), ({"dropout_p": 0.25}, [0.25])])
def test_attention_drops_values_only_if_it_is_asked(options, found):
    rows = eval_forward(again(Attends(**options), randn(1, 2, 3, 4)))["dropout"]
    assert [row["p"] for row in rows] == found


def test_the_end_of_a_call_ends_those_inside_it():
    running, outer, inner = RunningCalls(), call(order=0), call(order=1)
    running.enter(outer, None)
    running.enter(inner, None)
    running.leave(outer, None, None)  # the end of the inner one comes late, if at all
    assert running.stack == []
    running.leave(inner, None, None)
    assert running.stack == []


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad


def test_a_custom_function_is_not_blamed_for_a_parameter_outside_the_graph():
    net = Of(
        lambda x: Same.apply(net.fc(x)), fc=nn.Linear(2, 2), unused=nn.Linear(2, 2, bias=False)
    )
    lost = LostGradients(missing=frozenset({"unused.weight"}))
    rows = cuts(again(net, torch.ones(1, 2)), lost, everything=False)
    assert "Same" not in str(values(rows))
    assert any("unused" in str(row.value) or "unused" in row.target for row in rows)
