"""What a watched training reports of a step that is a spike, held against plain PyTorch."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from hookcli.report.encode import training_to_json
from hookcli.report.schema import training_from_json
from hookcli.report.training import ScriptInfo
from hookcli.spec.request import ModelSpec, Spec
from hookcli.spec.training import RunJob, ScriptSpec, TrainingSpec, parse_steps
from hookcli.training import watch as watching
from hookcli.training.non_finite.forward_call import Autocast, ForwardCall
from hookcli.training.non_finite.generators import Generators
from hookcli.training.script.ending import EndOfRun
from hookcli.training.spikes.batch_ring import BatchRing
from hookcli.training.steps import TrainingStep

STEP, SAMPLE = 40, 5  # where the fault is


def watched(train, file=None, **training):
    """The report of a training in this process; True if hookcli ended it."""
    chosen = TrainingSpec(parse_steps("0-2", ""), **training)
    spec = Spec("grads", ModelSpec("train.py"))
    watch = watching.start(RunJob(ScriptSpec("train.py"), chosen, spec, file))
    ended = False
    try:
        train()
    except EndOfRun:
        ended = True
    finally:
        report = watch.finish(ScriptInfo("train.py", (), False, "completed", 0))
    assert report.tracking.detached is None
    return report, ended


class Loop:
    """A regression whose batch of one step has a label of another scale; keeps what plain PyTorch
    sees just before the optimizer's step."""

    def __init__(self, net, count=60, accumulate=1, clip=None, of=None, size=8):
        torch.manual_seed(0)
        self.net, self.count, self.accumulate, self.clip = net, count, accumulate, clip
        self.of = of or (lambda out, y: nn.functional.mse_loss(out, y))
        self.shape, self.label, self.spoiled = (size, 4), 1000.0, SAMPLE
        self.norms, self.weights, self.batch = [], None, None

    def __call__(self):
        optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)
        for step in range(self.count):
            optimizer.zero_grad()
            for micro in range(self.accumulate):
                x, y = torch.randn(self.shape), torch.randn(self.shape[0], 1)
                if step == STEP and micro == self.accumulate - 1:
                    y[self.spoiled] = self.label
                    self.batch = x, y, torch.get_rng_state()
                self.of(self.net(x), y).backward()
            if self.clip is not None:
                nn.utils.clip_grad_norm_(self.net.parameters(), self.clip)
            if step == STEP:
                self.weights = copy.deepcopy(self.net.state_dict())
                self.gradients = [p.grad.clone() for p in self.net.parameters()]
            self.norms.append(float(nn.utils.get_total_norm(p.grad for p in self.net.parameters())))
            optimizer.step()

    def norm_of(self, sample):
        """The norm of the gradient of one sample, which adds 1/8 of it to that of the mean."""
        x, y, _ = self.batch
        net = copy.deepcopy(self.net)
        net.load_state_dict(self.weights)
        one = slice(sample, sample + 1)
        grads = torch.autograd.grad(self.of(net(x[one]), y[one]) / 8, list(net.parameters()))
        return float(nn.utils.get_total_norm(grads))


def mlp():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))


def test_the_script_ends_before_the_weights_are_updated(tmp_path):
    file = tmp_path / "batch.pt"
    loop = Loop(mlp())
    report, ended = watched(loop, str(file), stop_on="spike")
    assert ended
    (spike,) = report.spikes
    assert (spike.step, spike.what) == (STEP, "gradient")
    assert spike.value == pytest.approx(loop.norms[STEP], rel=1e-5)
    assert spike.limit < spike.value
    assert len(loop.norms) == STEP + 1
    saved = torch.load(tmp_path / "batch.weights.pt")
    for name, value in loop.net.state_dict().items():
        assert torch.equal(value, loop.weights[name])  # no update was made
        assert torch.equal(saved[name], value)
    x = torch.load(file)
    assert torch.equal(next(iter(x.values())) if isinstance(x, dict) else x[0], loop.batch[0])
    training = report.records[0].training
    assert training.total == STEP + 1
    assert training.steps[-1].step == STEP


def test_the_gradient_of_each_sample_is_that_of_plain_pytorch(tmp_path):
    loop = Loop(mlp())
    report, _ = watched(loop, str(tmp_path / "batch.pt"), stop_on="spike")
    samples = report.spikes[0].samples
    assert samples.why is None
    assert samples.count == 8
    assert [(one.forward, one.sample) for one in samples.dominant] == [(0, SAMPLE)]
    for one in samples.largest:
        assert one.norm == pytest.approx(loop.norm_of(one.sample), rel=1e-4)
    assert samples.median == pytest.approx(sorted(map(loop.norm_of, range(8)))[4], rel=1e-4)
    x, y, _ = loop.batch
    rest = [i for i in range(8) if i != SAMPLE]
    grads = torch.autograd.grad(
        nn.functional.mse_loss(loop.net(x[rest]), y[rest]) * 7 / 8, list(loop.net.parameters())
    )
    assert samples.without == pytest.approx(float(nn.utils.get_total_norm(grads)), rel=1e-3)


def test_a_training_that_goes_on_is_the_same_and_reports_the_spike():
    plain = Loop(mlp())
    plain()
    loop = Loop(mlp())
    report, ended = watched(loop)
    assert not ended
    assert loop.norms == plain.norms
    for one, other in zip(loop.net.parameters(), plain.net.parameters(), strict=True):
        assert torch.equal(one, other)
    spike = report.spikes[0]  # the update has damaged the model: later ones may follow
    assert (spike.step, spike.batch) == (STEP, None)
    assert spike.samples.dominant[0].sample == SAMPLE
    assert spike.inputs[0]["shape"] == [8, 4]
    names = dict(loop.net.named_parameters())
    expected = sorted(
        ((float(g.norm()), n) for n, g in zip(names, loop.gradients, strict=True)), reverse=True
    )
    assert [name for name, _ in spike.gradients] == [name for _, name in expected]
    assert [norm for _, norm in spike.gradients] == pytest.approx([norm for norm, _ in expected])


def test_dropout_draws_the_same_numbers_again():
    net = nn.Sequential(nn.Linear(4, 32), nn.Dropout(0.5), nn.Linear(32, 1))
    report, _ = watched(Loop(net), stop_on="spike")
    samples = report.spikes[0].samples
    assert [one.sample for one in samples.dominant] == [SAMPLE]


def test_samples_that_share_statistics_are_not_named():
    net = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
    report, ended = watched(Loop(net), stop_on="spike")
    assert ended
    samples = report.spikes[0].samples
    assert samples.why == "the samples share the statistics of '1' (BatchNorm1d)"
    assert samples.dominant == ()


def test_no_other_dimension_is_taken_for_samples_that_share_statistics():
    """The only channel of an image is no batch of one sample."""
    net = [nn.Conv1d(1, 4, 1), nn.BatchNorm1d(4), nn.Flatten(), nn.Linear(16, 1)]
    loop = Loop(nn.Sequential(*net))
    loop.shape = 8, 1, 4
    report, _ = watched(loop, stop_on="spike")
    assert report.spikes[0].samples.dominant == ()
    assert "share the statistics of '1'" in report.spikes[0].samples.why


def test_samples_that_see_each_other_are_not_named():
    class Mean(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(4, 8), nn.Linear(8, 1)

        def forward(self, x):
            h = self.one(x)
            return self.two(h - h.mean(0))

    report, _ = watched(Loop(Mean()), stop_on="spike")
    assert "depend on the other samples" in report.spikes[0].samples.why


def test_the_forward_of_accumulated_gradients_is_named():
    report, _ = watched(Loop(mlp(), accumulate=3), stop_on="spike")
    samples = report.spikes[0].samples
    assert samples.count == 24
    assert [(one.forward, one.sample) for one in samples.dominant] == [(2, SAMPLE)]


def test_a_clipped_gradient_is_judged_and_told_as_it_was_before():
    """The norm after clipping is always the same."""
    report, _ = watched(Loop(mlp(), clip=0.1), stop_on="spike")
    (spike,) = report.spikes
    assert (spike.step, spike.what) == (STEP, "gradient")
    assert spike.value == spike.grad_norm > 10 * spike.usual > 1
    assert spike.samples.dominant[0].sample == SAMPLE
    assert spike.samples.dominant[0].norm == pytest.approx(spike.value, rel=0.05)
    assert sum(norm**2 for _, norm in spike.gradients) == pytest.approx(spike.value**2, rel=1e-3)


def test_rows_of_an_output_are_grouped_by_their_sample():
    """As those of a language model whose logits are flattened."""

    class Flat(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(1, 1)

        def forward(self, x):
            return self.net(x.reshape(-1, 1))

    def loss(out, y):
        return nn.functional.mse_loss(out.reshape(8, 4), y.expand(8, 4))

    report, _ = watched(Loop(Flat(), of=loss), stop_on="spike")
    samples = report.spikes[0].samples
    assert (samples.count, samples.dominant[0].sample) == (8, SAMPLE)


def test_a_batch_that_the_script_overwrote_is_told():
    def train():
        net, x = mlp(), torch.empty(8, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(60):
            optimizer.zero_grad()
            x.copy_(torch.randn(8, 4))
            loss = net(x).square().mean() * (1e6 if step == STEP else 1)
            loss.backward()
            x.zero_()
            optimizer.step()

    report, _ = watched(train, stop_on="spike")
    assert report.spikes[0].step == STEP
    assert report.spikes[0].samples.why == "the batch was changed in place after the forward"


def test_steps_that_cannot_be_judged_are_told():
    net = mlp()

    def train():
        optimizer = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=2)
        x = torch.randn(8, 4)

        def closure():
            optimizer.zero_grad()
            loss = net(x).square().mean()
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(closure)

    report, ended = watched(train, stop_on="spike")
    assert not ended
    assert any("--stop-on spike judged no step" in text for text in report.warnings)
    assert report.spikes is None


def test_a_training_that_is_too_short_to_be_judged_has_no_spikes_and_not_none():
    assert watched(Loop(mlp(), count=20))[0].spikes is None
    assert watched(Loop(mlp(), count=21))[0].spikes == ()


def test_a_report_with_spikes_is_read_again():
    report, _ = watched(Loop(mlp()))
    assert training_from_json(training_to_json(report)).spikes == report.spikes


def norms_that_are_read_later(monkeypatch):
    """As those of a GPU, which a training does not wait for."""
    usual = watching.gradient_norm
    monkeypatch.setattr(
        watching, "gradient_norm", lambda parameters: torch.tensor(usual(parameters))
    )


def test_values_that_are_read_later_tell_the_step_and_its_batch(monkeypatch, tmp_path):
    norms_that_are_read_later(monkeypatch)
    file = tmp_path / "batch.pt"
    loop = Loop(mlp())
    report, _ = watched(loop, str(file))
    spike = report.spikes[0]
    assert (spike.step, spike.what, spike.batch) == (STEP, "gradient", str(file))
    assert (spike.weights, spike.samples, spike.gradients) == (None, None, ())
    assert spike.inputs[0]["shape"] == [8, 4]
    (saved,) = torch.load(file).values()
    assert torch.equal(saved, loop.batch[0])
    assert any("those of a later step" in text for text in report.warnings)


def test_batches_that_are_too_large_to_wait_are_not_saved(monkeypatch, tmp_path):
    norms_that_are_read_later(monkeypatch)
    report, _ = watched(Loop(mlp()), str(tmp_path / "batch.pt"), keep_batches=100)  # of 128 bytes
    assert (report.spikes[0].step, report.spikes[0].batch) == (STEP, None)


def test_a_script_that_stops_waits_for_the_values(monkeypatch):
    norms_that_are_read_later(monkeypatch)
    report, ended = watched(Loop(mlp()), stop_on="spike")
    assert ended
    assert report.spikes[0].step == STEP == report.records[0].training.total - 1


def step_of(value):
    return TrainingStep(0, 1, 1, value, value, None)


def call_of(tensor):
    return ForwardCall((tensor,), {}, Generators(), Autocast())


def test_the_ring_keeps_steps_until_their_values_are_read_and_bounds_their_batches():
    ring = BatchRing(most=1_000)
    steps = [step_of(torch.tensor(1.0)) for _ in range(4)]
    for step in steps:
        ring.add(None, step, [call_of(torch.zeros(100))])  # 400 bytes
    assert ring.bytes == 800
    assert ring.known() == []
    for step in steps[:3]:
        step.read()
    known = ring.known()
    assert [len(one.calls) for one in known] == [0, 0, 1]
    assert (len(ring), ring.bytes) == (1, 400)


def test_the_ring_drops_a_batch_that_is_too_large_and_keeps_no_graph():
    ring = BatchRing(most=1_000)
    ring.add(None, step_of(torch.tensor(1.0)), [call_of(torch.zeros(1_000))])
    assert ring.bytes == 0
    made = torch.ones(10, requires_grad=True) * 2
    step = step_of(torch.tensor(1.0))
    ring.add(None, step, [call_of(made)])
    for one in (step, ring._steps[0].step):
        one.read()
    kept = ring.known()[1].calls[0].args[0]
    assert kept.grad_fn is None
    assert kept.data_ptr() == made.data_ptr()
