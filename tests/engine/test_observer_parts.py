"""What observes a run, called with plain values: memory, times, gradients, sketches."""

from __future__ import annotations

import random
import threading
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional as F

from hookcli.engine import seeds
from hookcli.engine.batch.fake_checks import FakeDoubtError, _check_dtype
from hookcli.engine.cost.live_bytes import LiveBytes, dense_parts
from hookcli.engine.diff.capture import TensorCapture
from hookcli.engine.diff.sketches import SketchObserver
from hookcli.engine.diff.weights import _cast, _load
from hookcli.engine.distributed import find_unused_parameters
from hookcli.engine.observe import node_producers
from hookcli.engine.observe.gradients import _status, note_gradients
from hookcli.engine.observe.memory import MemoryObserver, bytes_of
from hookcli.engine.observe.node_owners import NodeOwners
from hookcli.engine.observe.recorder import _sizes
from hookcli.engine.observe.timeline import Timeline
from hookcli.engine.optimizers import make_optimizer, optimizer_memory
from hookcli.engine.phases import _gradient
from hookcli.engine.prepare import _accepts_one, _check_device
from hookcli.engine.statistics.cpu import quick_norm_of_sum
from hookcli.engine.statistics.sketch import dense
from hookcli.errors import RequestError
from hookcli.models.backend import backend_of
from hookcli.models.batch import as_batch
from hookcli.models.model import Call
from hookcli.report.recording import Recording
from hookcli.spec.hooks import OptimizerSpec
from hookcli.spec.plan import plan
from hookcli.torch_private import MEMORY, next_sequence_nr
from tests.hooks.running import spec_of
from tests.torch_version import needs_torch


def call_of(order, **more):
    known = {"key": order, "name": f"fc{order}", "type": "Linear", "index": 0, "parent": None}
    known |= {"depth": 0, "training": True, "recomputed": False, "module": None, "graded": True}
    return Call(order, **known | {"sequence": 0} | more)


# Memory -------------------------------------------------------------------------------------------


class Wrapper(torch.Tensor):
    """A tensor that consists of a dense tensor and a sparse one."""

    @staticmethod
    def __new__(cls, first, other):
        return torch.Tensor._make_wrapper_subclass(cls, first.shape, dtype=first.dtype)

    def __init__(self, first, other):
        self.first, self.other = first, other

    def __tensor_flatten__(self):
        return ["first", "other"], None

    @staticmethod
    def __tensor_unflatten__(inner, _meta, _size, _stride):
        return Wrapper(inner["first"], inner["other"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise NotImplementedError(func)


MATRIX = torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])


def compressed(layout, ends, others, *shape):
    return lambda: torch.sparse_compressed_tensor(
        torch.tensor(ends), torch.tensor(others), torch.ones(shape), layout=layout
    )


# The numbers of stored values (float32), and of indices (int64).
SPARSE = {
    "coo": (lambda: MATRIX.to_sparse(), 3, 2 * 3),
    "csr": (compressed(torch.sparse_csr, [0, 2, 3], [0, 2, 1], 3), 3, 3 + 3),
    "csc": (compressed(torch.sparse_csc, [0, 1, 2, 3], [0, 1, 0], 3), 3, 4 + 3),
    "bsr": (compressed(torch.sparse_bsr, [0, 1, 2], [0, 1], 2, 2, 2), 8, 3 + 2),
    "bsc": (compressed(torch.sparse_bsc, [0, 1, 2], [0, 1], 2, 2, 2), 8, 3 + 2),
}


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("layout", SPARSE)
def test_the_bytes_of_a_sparse_tensor_are_those_of_its_values_and_indices(layout):
    make, values, indices = SPARSE[layout]
    tensor = make()
    assert bytes_of(tensor) == 4 * values + 8 * indices
    dense_one = torch.ones(2, 3)
    wrapper = Wrapper(dense_one, tensor)
    assert next(dense_parts(wrapper)) is dense_one
    assert bytes_of([wrapper, dense_one]) == 4 * 6 + 4 * values + 8 * indices


def test_a_result_whose_storage_has_no_size_is_counted_as_such():
    with LiveBytes() as live:
        kept = torch.ones(16, 16) * 2
        assert (live.now, live.unsized) == (1024, 0)
        packed = kept.to_mkldnn()
    assert (live.now, live.unsized) == (1024, 1)
    del kept, packed


def memory(step=0, phase="forward"):
    recording, clock = Recording(), SimpleNamespace(step=step, phase=phase)
    observer = MemoryObserver(recording, NodeOwners(), clock, may_doubt=False)
    return observer, recording


def test_memory_is_that_of_the_first_step():
    observer, recording = memory(step=1)
    net = backend_of(nn.Linear(2, 2))
    with observer.live:
        observer.enter(call_of(0), ((), {}))
        out = net.root(torch.ones(1, 2))
        observer.leave(call_of(0), None, None)
        observer.forward_ended(net, as_batch(torch.ones(1, 2)), out)
        out.sum().backward()
        observer.backward_ended(net)
    observer.end(as_batch(torch.ones(1, 2)))
    note = recording.memory
    assert (note.calls, note.forward_peak, note.backward_peak) == ({}, 0, None)
    assert (note.gradient_bytes, recording.training) == (0, None)


def test_the_end_of_a_call_ends_those_inside_it_whose_end_was_not_seen():
    observer, recording = memory()
    outer, inner, strange = call_of(0), call_of(1, parent=0), call_of(2)
    with observer.live:
        observer.enter(outer, ((), {}))
        observer.enter(inner, ((), {}))
        made = torch.ones(256) * 2
        observer.leave(strange, None, None)
        observer.leave(outer, None, None)
        observer.leave(inner, None, None)
        later = torch.ones(1024) * 2
    observer.end(as_batch(torch.ones(1)))
    peaks = {order: row.peak_bytes for order, row in recording.memory.calls.items()}
    assert peaks == {0: 2048, 1: 2048}  # of ones, and of the product
    del made, later


def test_what_runs_between_the_phases_is_no_peak_of_them():
    observer, recording = memory(phase="optimizer")
    with observer.live:
        torch.ones(256)
    assert (recording.memory.forward_peak, recording.memory.backward_peak) == (0, None)


class Packed(nn.Module):
    """Saves tensors that are packed, and that its own code made outside of any call."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(64, 64)

    def forward(self, x):
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            return self.fc(x * 2).sin()


@needs_torch("2.10", MEMORY)
def test_what_no_call_made_counts_for_the_whole_only():
    observer, recording = memory()
    net, x = backend_of(Packed()), torch.ones(4, 64)
    with observer.live:
        out = net.root(x)
        observer.forward_ended(net, as_batch(x), out)
    observer.end(as_batch(x))
    assert recording.memory.calls == {}
    assert recording.training is not None
    assert recording.training.saved_bytes == 2 * 4 * 64 * 4  # the product, and the input of sin


# Times, gradients ---------------------------------------------------------------------------------


def test_the_ends_of_calls_and_nodes_that_did_not_start_have_no_time():
    timeline = Timeline()
    timeline.call_ended(call_of(0))
    timeline.node_ended(3, None, "AddBackward0")
    timeline.enter(call_of(1), ((), {}))
    timeline.call_ended(call_of(1))
    timeline.node_started(4)
    timeline.node_ended(4, 1, "MulBackward0")
    data = timeline.data()
    assert [row[0] for row in data["calls"]] == [1]
    assert [row[:2] for row in data["nodes"]] == [[1, "MulBackward0"]]


def test_a_gradient_that_cannot_be_read_has_no_status():
    net = nn.Linear(2, 2, device="meta")
    net.weight.grad = torch.ones(2, 2, device="meta")
    notes = note_gradients(backend_of(net), None)
    assert notes[id(net.weight)].status is None
    assert notes[id(net.bias)].status == "none"


@pytest.mark.parametrize(
    ("numel", "norm", "status"), [(0, 0.0, "ok"), (4, 0.0, "zero"), (4, 1.0, "ok")]
)
def test_the_gradient_of_a_rank_without_elements_is_not_zero(numel, norm, status):
    figures = {"nans": 0, "infs": 0, "norm": norm, "numel": numel}
    assert _status(torch.ones(4, requires_grad=True), torch.ones(4), figures) == status


@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_the_sizes_of_a_layer_are_unknown_until_it_is_initialized():
    assert _sizes(nn.Sequential(nn.LazyLinear(2))) is None
    net = nn.Sequential(nn.Linear(2, 3))
    net[0].bias.requires_grad_(False)
    assert _sizes(net) == (0, 9, 6)


def producers(most, monkeypatch, operators=None):
    if operators is not None:
        monkeypatch.setattr(node_producers, "MOST_OPERATORS", operators)
    owners = NodeOwners()
    found = node_producers.NodeProducers(owners, [], most)
    x = torch.ones(2, requires_grad=True)
    found.begin(call_of(0, sequence=0))
    made = x * 2
    found.note(made, (0, ""), certain=True)
    late = made
    for _ in range(4):
        late = late.sin()
    return found, late


@pytest.mark.parametrize(("operators", "expected"), [(None, {(0, ""): ("sin",) * 4}), (3, {})])
def test_what_made_a_tensor_is_followed_through_few_operators(operators, expected, monkeypatch):
    found, late = producers(100, monkeypatch, operators)
    assert found.of(late, 5) == expected


def test_no_more_nodes_are_read_after_the_most(monkeypatch):
    found, late = producers(2, monkeypatch)
    assert found.of(late, 5) == {(0, ""): ("sin",) * 4}
    assert found.of(late, 5) == {}


def test_a_number_that_another_thread_has_reached_names_no_call():
    owners = NodeOwners()
    owners.enter(call_of(0, sequence=3), None)

    def elsewhere():
        inner = call_of(1, sequence=next_sequence_nr())
        owners.enter(inner, None)
        torch.ones(2, requires_grad=True).sin().cos().exp().log().sin()
        owners.leave(inner, None, None)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert [owners.of(number) for number in (3, 4, 5, 6)] == [None, None, 0, 0]


# Sketches and captures of a comparison ------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_sketches_are_those_of_calls_that_began_with_late_arguments_and_no_lazy_parameters():
    rows = []
    observer = SketchObserver(rows)
    observer.begin(backend_of(nn.Sequential(nn.LazyBatchNorm1d(), nn.Linear(2, 2))))
    assert [row.target for row in rows] == ["1.weight", "1.bias", "0.num_batches_tracked"]
    x, late = torch.ones(2), {"mask": torch.zeros(3)}
    rows.clear()
    observer.leave(call_of(0), x, None)  # began before the run was observed
    observer.enter(call_of(1), ((x,), {}))
    observer.leave(call_of(1, late=late), x, None)
    observer.enter(call_of(2), ((x,), {}))
    observer.leave(call_of(2, late=late), x, ValueError())
    parts = [(row.target, len(row.value["inputs"]), len(row.value["outputs"])) for row in rows]
    assert parts == [("fc1", 2, 1), ("fc2", 1, 0)]


def test_a_capture_has_the_late_arguments_of_a_call():
    capture = TensorCapture([1])
    x, late = torch.ones(2), {"mask": torch.zeros(3)}
    for order in (0, 1):
        capture.enter(call_of(order), ((x,), {}))
        capture.leave(call_of(order, late=late), x * 2, None)
    assert list(capture.calls) == [1]
    kept = capture.calls[1]
    assert (set(kept["inputs"]), set(kept["outputs"])) == ({"[0]", ".mask"}, {""})


@pytest.mark.parametrize(
    ("entry", "current"),
    [
        ((torch.ones(2),), (torch.ones(2), None)),
        ((torch.ones(2), None), (torch.ones(2), torch.ones(1))),
        ((torch.ones(2), torch.ones(3)), (torch.ones(2), torch.ones(1))),
        ((torch.ones(2),), torch.ones(2)),
    ],
)
def test_packed_weights_fit_only_packed_weights_of_the_same_parts(entry, current):
    assert _cast(entry, current) is None


def test_packed_weights_get_the_dtype_of_those_that_they_replace():
    weight, bias = _cast((torch.ones(2), None), (torch.ones(2, dtype=torch.float64), None))
    assert (weight.dtype, bias) == (torch.float64, None)


class Refuses(nn.Linear):
    def load_state_dict(self, *args, **kwargs):
        raise ValueError("not today")


def test_an_error_of_the_models_own_loading_is_its_own():
    with pytest.raises(ValueError, match="not today"):
        _load(Refuses(2, 2), {})
    with pytest.raises(RequestError, match=r"cannot load A's weights into B: .*size mismatch"):
        _load(nn.Linear(2, 2), {"weight": torch.ones(3, 3)})


# Requests -----------------------------------------------------------------------------------------


def test_a_gradient_of_the_output_is_a_shape_or_numbers():
    output = torch.zeros(2, 2)
    assert _gradient("2x2:float32:ones", output).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert _gradient([1, 2, 3, 4], output).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert _gradient(2, output).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    with pytest.raises(RequestError, match=r"'x\.pt' is not a tensor"):
        _gradient("x.pt", output)
    with pytest.raises(RequestError, match=r"must have the output's shape \[2, 2\], got \[3\]"):
        _gradient([1, 2, 3], output)


@pytest.mark.parametrize("name", ["SGDD", "Optimizer2", "lr_scheduler"])
def test_an_optimizer_is_a_class_of_torch(name):
    with pytest.raises(RequestError, match=f"unknown optimizer '{name}'"):
        make_optimizer(
            OptimizerSpec(name), [torch.ones(1)], "run", hint="omit it", name_place="run.optimizer"
        )


def test_an_optimizer_without_parameters_needs_no_memory():
    assert optimizer_memory(OptimizerSpec("Adam"), [], "cpu", "run") == (0, 0)


def test_a_device_must_be_there():
    _check_device("cpu")
    for device in ("cuda", "xpu", "fpga"):
        if not torch.cuda.is_available() or device != "cuda":
            with pytest.raises(RequestError, match=f"device '{device}' is not available"):
                _check_device(device)


@pytest.mark.parametrize(
    ("function", "accepts"),
    [(3, False), (None, False), (lambda: 0, False), (lambda mode: 0, True), (int, True)],
)
def test_a_train_that_is_no_method_of_one_argument_is_not_called(function, accepts):
    assert _accepts_one(function) is accepts


@pytest.mark.parametrize(
    ("how", "expected"),
    [({}, ["extra.weight", "extra.bias"]), ({"gradient": 1.0}, ["extra.weight", "extra.bias"])],
)
def test_parameters_without_gradient_are_found_from_the_loss_or_the_output(how, expected):
    class Partly(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.extra = nn.Linear(2, 2), nn.Linear(2, 2)

        def forward(self, x):
            return {"ids": x.argmax(), "y": self.fc(x)}

    batch, model = as_batch(torch.ones(1, 2)), backend_of(Partly())
    made = plan(spec_of((), command="grads", **how))
    assert find_unused_parameters(model, batch, made) == expected
    assert find_unused_parameters(model, batch, plan(spec_of((), command="inspect"))) == []


def test_a_fake_linear_layer_does_not_tell_that_integers_fail():
    layer = nn.Linear(2, 2)
    _check_dtype(layer, (torch.ones(2),))
    _check_dtype(layer, ())
    with pytest.raises(FakeDoubtError, match="expected floats, got int64"):
        _check_dtype(layer, (torch.ones(2, dtype=torch.int64),))
    with pytest.raises(RuntimeError):
        layer(torch.ones(2, dtype=torch.int64))


@pytest.mark.parametrize(
    ("run", "draws"),
    [
        (lambda: torch.ones(3) + 1, False),
        (lambda: F.dropout(torch.ones(3), 0.5, training=False), False),
        (lambda: F.dropout(torch.ones(3), 0.5), True),
        (lambda: torch.rand(1), True),
    ],
)
def test_numbers_that_were_drawn_since_the_seed_are_noticed(run, draws):
    with seeds.generators_kept():
        seeds.seed_all(7)
        run()
        assert seeds.has_drawn(7, "cpu") is draws
        assert seeds.has_drawn(7, "mps")  # it is not known


def test_the_generators_of_torch_and_python_are_seeded_without_numpy(monkeypatch):
    monkeypatch.setattr(seeds, "_numpy_random", lambda: None)
    drawn = []
    for _ in range(2):
        with seeds.generators_kept():
            seeds.seed_all(3)
            drawn.append((torch.rand(1).item(), random.random()))
    assert drawn[0] == drawn[1]
    before = torch.random.get_rng_state(), random.getstate()
    with seeds.generators_kept():
        seeds.seed_all(4)
    assert torch.equal(torch.random.get_rng_state(), before[0])
    assert random.getstate() == before[1]


# Values -------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*quantized tensor creation")
def test_the_dense_form_of_a_quantized_tensor_has_its_values():
    values = torch.tensor([0.0, 0.5, 1.0])
    quantized = torch.quantize_per_tensor(values, 0.5, 0, torch.quint8)
    assert torch.equal(dense(quantized), values)
    assert torch.equal(dense(MATRIX.to_sparse()), MATRIX)


def test_the_quick_norm_of_a_sum_is_for_vectors():
    a, b = torch.ones(100_000), torch.full((100_000,), 2.0)
    assert quick_norm_of_sum(a, b) == pytest.approx(3 * 100_000**0.5)
    assert quick_norm_of_sum(a.view(100, 1000), b.view(100, 1000)) is None
