"""The memory of calls and of training, against plain PyTorch (memory_truth.py) and its profiler."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import threading
from contextlib import nullcontext

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint

from hookcli.api.live import run_live
from hookcli.engine.hook_engine.build import engine_for
from hookcli.engine.optimizers import optimizer_memory
from hookcli.engine.runner import RunOptions, run
from hookcli.engine.what_if import TrainingSteps, _cast
from hookcli.errors import RequestError
from hookcli.models.backend import backend_of
from hookcli.models.batch import Batch, map_batch
from hookcli.models.fake.fake import Faker
from hookcli.report.encode import to_json
from hookcli.report.recording import Recording
from hookcli.report.rows.memory import memory_notes
from hookcli.report.schema import from_json
from hookcli.report.sinks import Kept
from hookcli.spec.hooks import OptimizerSpec
from hookcli.spec.plan import plan
from hookcli.spec.request import ModelSpec, RunSpec, Spec
from hookcli.spec.what_if import ESTIMATED, parse_what_if
from hookcli.torch_private import MEMORY
from tests.engine.memory_truth import peaks_by_hand, plain, saved_by_hand
from tests.torch_version import needs_torch

pytestmark = needs_torch("2.10", MEMORY)
SPEC = Spec("inspect", ModelSpec("net"), run=RunSpec(memory=True))


def loss(output):
    return next(iter(t for t in plain(output) if t.requires_grad)).float().sum()


class Views(nn.Module):
    """Views, chunks, in-place operators and a residual share storages."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(6, 18)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        y = self.act(q.sin()).t().t() + k
        y += v
        return y.view(-1)[1:].exp()


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 6)
        self.mix = nn.Linear(6, 6)
        self.head = nn.Linear(6, 11, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(torch.tanh(self.mix(self.embed(ids))))


class Packed(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(6, 5, batch_first=True)
        self.head = nn.Linear(5, 2)

    def forward(self, x):
        packed = pack_padded_sequence(x, torch.tensor([3, 2]), batch_first=True)
        out, _ = self.rnn(packed)
        return self.head(pad_packed_sequence(out, batch_first=True)[0])


class PartlyFrozen(nn.Module):
    """A frozen backbone, a part under no_grad, and a head that learns."""

    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(6, 9), nn.GELU()).requires_grad_(False)
        self.teacher = nn.Linear(9, 9)
        self.head = nn.Sequential(nn.Linear(9, 9), nn.Softmax(-1), nn.Linear(9, 3))

    def forward(self, x):
        x = self.backbone(x)
        with torch.no_grad():
            target = self.teacher(x)
        return self.head(x + target)


class Autocast(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 8)

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            return self.b(self.b(self.a(x)))


def cnn():
    return nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Dropout(0.2), nn.Flatten(), nn.Linear(16, 3),
    )  # fmt: skip


MODELS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2)), (4, 6)),
    "cnn": (cnn, (3, 2, 6, 6)),
    "encoder": (lambda: nn.TransformerEncoderLayer(6, 2, 12, batch_first=True), (2, 5, 6)),
    "transformer decoder": (lambda: nn.TransformerDecoderLayer(6, 2, 12), (5, 2, 6)),
    "rnn": (lambda: nn.RNN(6, 5), (3, 2, 6)),
    "lstm": (lambda: nn.LSTM(6, 5, 2), (3, 2, 6)),
    "packed": (Packed, (2, 3, 6)),
    "views": (Views, (4, 6)),
    "tied": (Tied, (2, 3)),
    "partly frozen": (PartlyFrozen, (4, 6)),
    "autocast": (Autocast, (4, 6)),
    "norms": (lambda: nn.Sequential(nn.GroupNorm(2, 6), nn.LayerNorm(6), nn.SiLU()), (4, 6)),
}  # fmt: skip


def batch_of(name):
    shape = MODELS[name][1]
    torch.manual_seed(1)
    if name == "tied":
        return (torch.randint(0, 11, shape),)
    x = torch.randn(shape)
    return (x, x.clone()) if name == "transformer decoder" else (x,)


def model_of(name):
    torch.manual_seed(0)
    return MODELS[name][0]().train()


def figures(report):
    return [dataclasses.astuple(row.memory) for row in report.layers]


def by_hand(make, args):
    """The same figures from memory_truth.py, and the highest peaks."""
    saved = saved_by_hand(make(), args, {})
    forward, backward, highest = peaks_by_hand(make(), args, {}, loss)
    rows = [(saved.get(i, 0), forward[i], backward.get(i)) for i in range(len(forward))]
    return rows, highest


def fake_run(make, args, spec=SPEC):
    """The recording of a run with fake tensors."""
    faker, root = Faker("cpu"), make()
    faker.module(root)
    recording = Recording()
    batch = map_batch(Batch(args), faker.tensor)
    with faker.mode:
        options = RunOptions(lambda *_: None, recording, fake=True, loss=loss)
        run(backend_of(root), batch, plan(spec), engine_for(spec, Kept()), options)
    assert recording.failure is None, recording.failure
    return recording


@pytest.mark.parametrize("name", MODELS)
def test_figures_are_those_of_plain_pytorch(name):
    args = batch_of(name)
    report = run_live(model_of(name), Batch(args), SPEC, loss=loss)
    rows, highest = by_hand(lambda: model_of(name), args)
    assert figures(report) == rows
    assert report.memory.saved_bytes == sum(saved for saved, _, _ in rows)
    assert report.memory.forward_peak_bytes == highest["forward"]
    assert report.memory.backward_peak_bytes == highest["backward"] > 0


# A fake run ends at pack_padded_sequence, whose result depends on values, and at an LSTM, whose
# workspace has no size.
@pytest.mark.parametrize("name", sorted({*MODELS} - {"packed", "lstm"}))
def test_a_fake_run_has_the_same_figures(name):
    args = batch_of(name)
    report = run_live(model_of(name), Batch(args), SPEC, loss=loss)
    recording = fake_run(lambda: model_of(name), args)
    notes = sorted(recording.memory.calls.items())
    assert [dataclasses.astuple(memory) for _, memory in notes] == figures(report)
    assert recording.memory.forward_peak == report.memory.forward_peak_bytes
    assert recording.memory.backward_peak == report.memory.backward_peak_bytes


def test_a_fake_lstm_is_in_doubt_as_its_workspace_has_no_size():
    args, make = batch_of("lstm"), lambda: model_of("lstm")
    with pytest.raises(AssertionError, match="FakeDoubtError"):
        fake_run(make, args)
    asked = dataclasses.replace(SPEC, run=RunSpec(memory=True, tensors="fake"))
    recording = fake_run(make, args, asked)
    assert "workspace of mkldnn_rnn_layer" in memory_notes(recording)[0]
    row = measured(make, args, "dtype=float64", faker=True)[-1]  # it falls back to a real run
    _, _, highest = peaks_by_hand(
        make().double(),
        (args[0].double(),),
        {},
        lambda o: o[0].sum() + o[1][0].sum() + o[1][1].sum(),
    )
    assert (row.note, row.forward_peak_bytes) == (None, highest["forward"])


LEAVES = [
    lambda: nn.Linear(6, 6), nn.ReLU, nn.GELU, nn.Tanh, nn.Identity, lambda: nn.LayerNorm(6),
    lambda: nn.Dropout(0.3), lambda: nn.Softmax(-1),
    lambda: nn.Sequential(nn.Linear(6, 6), nn.ReLU(inplace=True)),
    lambda: nn.Linear(6, 6).requires_grad_(False),
]  # fmt: skip


class Residual(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return x + self.inner(x.clone())


class Checkpointed(Residual):
    def forward(self, x):
        return checkpoint(self.inner, x.clone(), use_reentrant=False)


TREES = st.recursive(
    st.sampled_from(range(len(LEAVES))),
    lambda inner: st.tuples(st.sampled_from(["all", "residual"]), st.lists(inner, max_size=3)),
    max_leaves=8,
)


def tree(node):
    if isinstance(node, int):
        return LEAVES[node]()
    kind, below = node
    inner = nn.Sequential(*map(tree, below))
    return inner if kind == "all" else Residual(inner)


@settings(max_examples=20, deadline=None)
@given(node=TREES, samples=st.integers(1, 5))
def test_any_tree_of_modules(node, samples):
    def make():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(6, 6), tree(node)).train()

    args = (torch.randn(samples, 6),)
    report = run_live(make(), Batch(args), SPEC, loss=loss)
    rows, highest = by_hand(make, args)
    assert figures(report) == rows
    notes = sorted(fake_run(make, args).memory.calls.items())
    assert [dataclasses.astuple(memory) for _, memory in notes] == rows
    assert report.memory.backward_peak_bytes == highest["backward"]


def test_the_peak_is_the_profilers():
    """The profiler sees what the allocator gives, temporaries inside operators included."""
    net = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 64), nn.LayerNorm(64))
    x = torch.randn(32, 64)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as prof:
        loss(net(x)).backward()
    events = [e for e in prof.profiler.kineto_results.events() if e.name() == "[memory]"]
    now = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        now += event.nbytes()
        peak = max(peak, now)
    net.zero_grad()
    report = run_live(net, x, SPEC, loss=loss)
    assert max(report.memory.forward_peak_bytes, report.memory.backward_peak_bytes) == peak


def test_a_checkpoint_saves_its_input_and_runs_again_in_backward():
    inner = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6), nn.Tanh())
    x = torch.randn(8, 6)
    kept = run_live(nn.Sequential(nn.Linear(6, 6), Residual(inner)), x, SPEC, loss=loss)
    held = run_live(nn.Sequential(nn.Linear(6, 6), Checkpointed(inner)), x, SPEC, loss=loss)
    size = x.numel() * 4
    assert held.memory.saved_bytes == size  # the clone
    assert kept.memory.saved_bytes == 3 * size  # the clone, and the results of both Tanh
    before, again = ([r for r in held.layers if r.recomputed == b and r.depth] for b in (0, 1))
    assert again
    live_at_the_end = 2 * size  # of forward: the clone, and the output
    assert all(row.memory.peak_bytes > live_at_the_end for row in again)
    assert max(row.memory.peak_bytes for row in before) <= 5 * size
    recorded = fake_run(lambda: nn.Sequential(nn.Linear(6, 6), Checkpointed(inner)), (x,))
    assert recorded.training.saved_bytes == size


def test_a_number_that_a_product_saves_takes_eight_bytes():
    """Hooks on saved tensors do not see the number: they would miss it."""

    class Scaled(nn.Module):
        def forward(self, x):
            return x * 1.5

    x = torch.randn(2, 6, requires_grad=True)
    assert figures(run_live(Scaled(), x, SPEC, loss=loss))[0][0] == 8


def test_without_backward_there_is_no_peak_of_it():
    net = nn.Linear(6, 6).requires_grad_(False)
    report = run_live(net, torch.randn(2, 6), SPEC, loss=loss)
    assert figures(report) == [(0, 48, None)]
    assert report.memory.backward_peak_bytes is None
    assert any("no backward pass" in warning for warning in report.warnings)


def test_no_grad_measures_forward_only():
    spec = dataclasses.replace(SPEC, run=RunSpec(memory=True, grad=False))
    report = run_live(nn.Sequential(nn.Linear(6, 6), nn.ReLU()), torch.randn(2, 6), spec)
    assert [row.memory.peak_bytes for row in report.layers] == [96, 48, 96]
    assert report.memory.backward_peak_bytes is None


def test_a_call_on_another_thread_is_unknown():
    class Threaded(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(6, 6)

        def forward(self, x):
            results = []
            worker = threading.Thread(target=lambda: results.append(self.fc(x)))
            worker.start()
            worker.join()
            return results[0]

    report = run_live(Threaded(), torch.randn(2, 6), SPEC, loss=loss)
    assert figures(report)[1] == (None, None, None)
    assert any("another thread" in note for note in report.layers[1].notes)


def test_a_model_that_raises_keeps_the_peaks_so_far():
    class Raises(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(6, 6)

        def forward(self, x):
            self.fc(x)
            raise ValueError("no")

    report = run_live(Raises(), torch.randn(2, 6), SPEC, loss=loss)
    assert report.status == "partial"
    assert report.layers[1].memory.peak_bytes == 48
    assert report.memory.saved_bytes is None
    assert report.layers[1].memory.saved_bytes is None


def test_a_scripted_model_has_figures():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 6)

        def forward(self, x):
            return self.b(torch.relu(self.a(x)))

    x = torch.randn(4, 6)
    scripted = run_live(torch.jit.script(Net()), x, SPEC, loss=loss)
    forward, _, highest = peaks_by_hand(Net(), (x,), {}, loss)
    assert [row.memory.peak_bytes for row in scripted.layers] == list(forward.values())
    assert scripted.memory.forward_peak_bytes == highest["forward"]


def test_an_ordinary_report_has_no_memory():
    report = run_live(nn.Linear(6, 6), torch.randn(2, 6), Spec("inspect", ModelSpec("net")))
    document = json.loads(to_json(report))
    assert "memory" not in document
    assert all("memory" not in row for row in document["layers"])


def measured(make, args, *what_ifs, faker=False):
    """The training steps, after a real run."""
    spec = dataclasses.replace(
        SPEC, run=RunSpec(memory=True, loss="sum", what_if=tuple(map(parse_what_if, what_ifs)))
    )
    root, recording = make(), Recording()
    model = backend_of(root)
    options = RunOptions(lambda *_: None, recording)
    run(model, Batch(args), plan(spec), engine_for(spec, Kept()), options)
    before = {name: (id(t), t.dtype) for name, t in root.state_dict(keep_vars=True).items()}
    steps = TrainingSteps(model, Batch(args), spec, plan(spec), faker=None, may_fake=faker)
    rows = steps.measure(recording)
    after = {name: (id(t), t.dtype) for name, t in root.state_dict(keep_vars=True).items()}
    assert before == after
    return rows


class Together(nn.Module):
    """Uses a parameter as a buffer too, and reads a value of large batches."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_buffer("kept", self.fc.weight, persistent=False)

    def forward(self, x, y):
        scale = y.sum().item() if len(y) > 4 else 1.0
        return self.fc(x) * scale + y @ self.kept


def test_a_tensor_with_two_places_is_changed_once():
    x = torch.ones(2, 4)
    row = measured(Together, (x, x), "batch=3,dtype=float64")[-1]
    assert (row.input_bytes, row.parameter_bytes) == (3 * 4 * 8, (16 + 4) * 8)
    root = Together()
    weight = root.fc.weight
    with _cast(root, "float64", nullcontext()):
        assert root.kept is root.fc.weight
        assert root.kept.dtype == torch.float64
    assert root.kept is root.fc.weight is weight


def test_a_what_if_that_only_real_tensors_can_run_needs_their_memory(monkeypatch):
    x = torch.ones(2, 4)
    row = measured(Together, (x, x), "batch=64", faker=True)[-1]
    assert (row.batch, row.note) == (64, None)
    monkeypatch.setattr("hookcli.engine.what_if.available", lambda: 1024)
    row = measured(Together, (x, x), "batch=64", faker=True)[-1]
    assert row.note == "the model requires real tensors, and memory is too small for them"


def test_a_what_if_that_fake_tensors_cannot_run_says_so():
    spec = dataclasses.replace(
        SPEC, run=RunSpec(memory=True, loss="sum", what_if=(parse_what_if("batch=64"),))
    )
    root, recording, batch = Together(), Recording(), Batch((torch.ones(2, 4),) * 2)
    model, options = backend_of(root), RunOptions(lambda *_: None, recording)
    run(model, batch, plan(spec), engine_for(spec, Kept()), options)
    faker = Faker("cpu")
    faker.module(root)
    [*_, row] = TrainingSteps(model, batch, spec, plan(spec), faker=faker, may_fake=True).measure(
        recording
    )
    assert row.note == "fake tensors cannot run this: pass `--tensors real`"


def bytes_in(tensors):
    return sum({t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in tensors}.values())


def step_by_hand(make, args, optimizer, **options):
    """(state, parameters, gradients, buffers, peaks) of a real training step."""
    net = make()
    _, _, highest = peaks_by_hand(net, args, {}, lambda out: next(plain(out)).sum())
    made = getattr(torch.optim, optimizer)(net.parameters(), **options)
    made.step()
    state = [t for per in made.state.values() for t in per.values() if isinstance(t, torch.Tensor)]
    sizes = [
        sum(t.numel() * t.element_size() for t in state if t.dim()),
        bytes_in(net.parameters()),
        bytes_in(p.grad for p in net.parameters() if p.grad is not None),
        bytes_in(net.buffers()),
    ]
    return *sizes, highest


@pytest.mark.parametrize("fake", [True, False])
@pytest.mark.parametrize("name", ["mlp", "cnn", "encoder", "packed", "views"])
def test_a_what_if_is_what_training_takes(name, fake):
    if name == "packed":
        text, samples = "dtype=float64,optimizer=adamw", 2  # its lengths are of two samples
    else:
        text, samples = "batch=7,dtype=float64,optimizer=adamw", 7
    args = batch_of(name)
    row = measured(lambda: model_of(name), args, text, faker=fake)[-1]
    wide = tuple(x[torch.arange(samples) % x.shape[0]].double() for x in args)
    state, parameters, gradients, buffers, highest = step_by_hand(
        lambda: model_of(name).double(), wide, "AdamW"
    )
    assert row.what_if == text
    assert (row.optimizer, row.batch, row.dtype) == ("AdamW", samples, "float64")
    assert (row.parameter_bytes, row.buffer_bytes) == (parameters, buffers)
    assert (row.gradient_bytes, row.input_bytes) == (gradients, bytes_in(wide))
    assert row.forward_peak_bytes == highest["forward"]
    assert row.backward_peak_bytes == highest["backward"]
    assert abs(row.state_bytes - state) <= 8 * len(list(model_of(name).parameters()))  # its steps
    peak = max(highest["forward"], highest["backward"], row.step_peak_bytes)
    assert row.total_bytes == parameters + buffers + bytes_in(wide) + row.state_bytes + peak


def test_rows_for_the_run_itself():
    args = batch_of("mlp")
    sgd, adam = measured(lambda: model_of("mlp"), args)
    assert (sgd.what_if, sgd.optimizer, sgd.state_bytes) == (None, "SGD", 0)
    weights = 4 * (6 * 8 + 8 + 8 * 2 + 2)
    assert (sgd.parameter_bytes, sgd.gradient_bytes, sgd.input_bytes) == (weights, weights, 96)
    assert adam.state_bytes - 4 * 4 == 2 * weights  # and the number of steps, for each parameter
    assert adam.total_bytes > sgd.total_bytes
    assert adam.batch == 4


def test_autocast_keeps_the_parameters_and_casts_operators():
    args = batch_of("mlp")
    plain_row, cast = measured(lambda: model_of("mlp"), args, "batch=4", "autocast=bfloat16")[-2:]

    def forward(net):
        class Inside(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = net

            def forward(self, x):
                with torch.autocast("cpu", torch.bfloat16):
                    return self.net(x)

        return Inside()

    _, _, highest = peaks_by_hand(forward(model_of("mlp")), args, {}, lambda out: out.float().sum())
    assert cast.parameter_bytes == plain_row.parameter_bytes
    assert (cast.dtype, cast.autocast) == ("float32", "bfloat16")
    assert cast.forward_peak_bytes == highest["forward"]
    assert cast.backward_peak_bytes == highest["backward"]


@pytest.mark.parametrize("name", ESTIMATED)
def test_the_state_is_that_of_the_optimizer(name):
    shapes = [(5, 3), (7, 2)] if name == "Muon" else [(5, 3), (7,)]
    sizes = [(shape, torch.float32) for shape in shapes]
    state, more = optimizer_memory(OptimizerSpec(name, {}), sizes, "cpu", "here")
    tensors = [nn.Parameter(torch.ones(shape)) for shape in shapes]
    for tensor in tensors:
        tensor.grad = torch.ones_like(tensor)
    made = getattr(torch.optim, name)(tensors)
    made.step()
    held = [t for per in made.state.values() for t in per.values() if isinstance(t, torch.Tensor)]
    assert sum(t.numel() * t.element_size() for t in held) == state
    assert more >= 0


def test_foreach_takes_temporaries_for_all_parameters():
    sizes = [((100,), torch.float32)] * 10
    _, each = optimizer_memory(OptimizerSpec("Adam", {"foreach": False}), sizes, "cpu", "here")
    _, all_ = optimizer_memory(OptimizerSpec("Adam", {"foreach": True}), sizes, "cpu", "here")
    assert each < 4 * 400 < 4000 <= all_


def test_options_change_the_state():
    sizes = [((100,), torch.float32)]
    plain_sgd, _ = optimizer_memory(OptimizerSpec("SGD", {}), sizes, "cpu", "here")
    momentum, _ = optimizer_memory(OptimizerSpec("SGD", {"momentum": 0.9}), sizes, "cpu", "here")
    adam, _ = optimizer_memory(OptimizerSpec("Adam", {}), sizes, "cpu", "here")
    amsgrad, _ = optimizer_memory(OptimizerSpec("Adam", {"amsgrad": True}), sizes, "cpu", "here")
    assert (plain_sgd, momentum, amsgrad - adam) == (0, 400, 400)


def test_the_batch_may_be_another_dimension():
    args = (torch.randn(3, 2, 6),)
    row = measured(lambda: nn.RNN(6, 5), args, "batch=9,batch_dim=1")[-1]
    _, _, highest = peaks_by_hand(
        nn.RNN(6, 5), (torch.randn(3, 9, 6),), {}, lambda out: out[0].sum() + out[1].sum()
    )
    assert row.input_bytes == 3 * 9 * 6 * 4
    assert row.forward_peak_bytes == highest["forward"]


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 6)

    def forward(self, x, y):
        return self.fc(x).sum(0) + y.sum(0)


class Fixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 6)

    def forward(self, x):
        return self.fc(x).view(4, 2, 3)


@pytest.mark.parametrize(
    ("make", "args", "text", "message"),
    [
        (Two, ((2, 6), (3, 6)), "batch=4", "sizes of the inputs in dimension 0 are 2, 3"),
        (Fixed, ((4, 6),), "batch=5", "does not run with batch=5: RuntimeError"),
        (Fixed, ((4, 6),), "optimizer=muon", "cannot create the optimizer Muon"),
        (Fixed, ((4, 6),), "optimizer=sgd,amsgrad=true", "cannot create the optimizer SGD"),
    ],
)
def test_what_cannot_run_is_an_error_of_the_request(make, args, text, message):
    with pytest.raises(RequestError, match=message) as caught:
        measured(make, tuple(torch.randn(shape) for shape in args), text)
    assert caught.value.place == f"--what-if {text}"


def test_the_json_is_read_back():
    root = model_of("mlp")
    report = run_live(root, batch_of("mlp")[0], SPEC)
    again = from_json(to_json(report), strict=True)
    assert again.memory == report.memory
    assert [row.memory for row in again.layers] == [row.memory for row in report.layers]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("dtype=float8_e4m3fn", "models do not train in float8_e4m3fn", "bfloat16"),
        ("optimizer=sparseadam", "the memory of sparseadam cannot be estimated", "AdamW"),
        ("optimizer=LBFGS", "the memory of LBFGS cannot be estimated", "AdamW"),
        (
            "autocast=float32",
            "autocast does not support 'float32'",
            "choose from float16, bfloat16",
        ),
    ],
)
def test_what_cannot_be_estimated_is_refused(text, message, hint):
    with pytest.raises(ValueError, match=message) as refused:
        parse_what_if(text)
    assert hint in refused.value.args[1]


def test_fake_recurrent_layers_have_a_note_about_their_workspace():
    def warnings(*, fake):
        model = nn.LSTM(4, 6)
        batch = Batch((torch.randn(3, 2, 4),), {})
        faker = Faker("cpu") if fake else None
        if faker is not None:
            faker.module(model)
            batch = map_batch(batch, faker.tensor)
        spec = Spec("inspect", ModelSpec("net"), run=RunSpec())
        recording = Recording()
        options = RunOptions(lambda *_: None, recording, fake=fake)
        with faker.mode if faker is not None else contextlib.nullcontext():
            run(backend_of(model), batch, plan(spec), engine_for(spec, Kept()), options)
        return recording.warnings

    assert any("workspace" in text for text in warnings(fake=True))
    assert not any("workspace" in text for text in warnings(fake=False))
