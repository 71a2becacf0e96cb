"""Event files for TensorBoard, read back with TensorBoard's own reader."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from hypothesis import given, settings, strategies as st
from tensorboard.backend.event_processing import plugin_event_accumulator
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util.tensor_util import make_ndarray
from torch import nn

import hookcli
from hookcli.cli.output import write_files
from hookcli.cli.targets.folders import add_files, check_folder_format
from hookcli.errors import RequestError
from hookcli.formats.registry import FORMATS, formats_of
from hookcli.formats.tensorboard.histograms import rebuild
from hookcli.formats.view import View
from hookcli.report.values import Leaf
from tests.formats.fabricate import GRADS, LAYERS, TRACE, layer, parameter, report, stats

ALL = {"scalars": 0, "histograms": 0, "tensors": 0, "graph": 0}
TENSORBOARD = FORMATS["tensorboard"]


@pytest.fixture
def read(tmp_path):
    """Write a report into a folder and read it back."""

    def read(found):
        folder = tmp_path / "runs"
        add_files(folder, TENSORBOARD.files(found, View()))
        return EventAccumulator(str(folder), size_guidance=ALL).Reload()

    return read


def values(events, tag):
    return [(event.step, event.value) for event in events.Scalars(tag)]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.blocks(x))


def trained(steps):
    """(loss, norm of each gradient, norm of each weight) before each step, by plain PyTorch."""
    torch.manual_seed(3)
    model, batch = Net(), torch.linspace(-1, 1, 12).view(3, 4)
    report = hookcli.grads(
        model, batch, steps=steps, loss=lambda output: output.square().mean(), mode="train"
    )
    optimizer, rows = torch.optim.SGD(model.parameters(), lr=0.01), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        named = dict(model.named_parameters())
        rows.append(
            (
                loss.item(),
                {name: p.grad.norm().item() for name, p in named.items()},
                {name: p.norm().item() for name, p in named.items()},
            )
        )
        optimizer.step()
    return report, rows


def test_scalars_are_those_of_plain_pytorch_by_step(read):
    made, rows = trained(3)
    events = read(made)
    close = {"rel": 1e-5}
    assert values(events, "loss") == [
        (step, pytest.approx(loss, **close)) for step, (loss, _, _) in enumerate(rows)
    ]
    for name in rows[0][1]:
        assert values(events, f"gradient_norm/{name}") == [
            (step, pytest.approx(norms[name], **close)) for step, (_, norms, _) in enumerate(rows)
        ]
        _, gradients, weights = rows[-1]
        assert values(events, f"weight_norm/{name}") == [(2, pytest.approx(weights[name], **close))]
        ratio = gradients[name] / weights[name]
        assert values(events, f"gradient_to_weight/{name}") == [(2, pytest.approx(ratio, **close))]
    whole = math.hypot(*rows[-1][1].values())
    assert values(events, "gradient_norm") == [(2, pytest.approx(whole, **close))]
    steps = [step for step, _ in values(events, "event tensor/blocks:output")]
    assert steps == [0, 1, 2]
    assert [t for t in events.Tags()["scalars"] if t.startswith("output_gradient_norm/")]


def test_histograms_have_the_tensor_s_own_figures(read):
    made, _ = trained(2)
    events = read(made)
    row = next(row for row in made.parameters if row.name == "blocks.0.weight")
    [weights] = events.Histograms("weights/blocks.0.weight")
    gradients = events.Histograms("gradients/blocks.0.weight")
    assert (weights.step, [g.step for g in gradients]) == (1, [0, 1])
    for histogram, figures in (
        (weights.histogram_value, row.stats),
        (gradients[0].histogram_value, row.steps[0]["grad"]),
        (gradients[1].histogram_value, row.steps[1]["grad"]),
    ):
        assert (histogram.num, histogram.min, histogram.max) == (
            32, figures["min"], figures["max"],
        )  # fmt: skip
        assert histogram.sum == pytest.approx(32 * figures["mean"])
        assert histogram.sum_squares == pytest.approx(figures["norm"] ** 2, rel=1e-5)
        assert sum(histogram.bucket) == pytest.approx(32)
        assert histogram.bucket_limit == sorted(histogram.bucket_limit)


def test_the_graph_has_each_call_in_its_scope_with_its_shape(read):
    graph = read(hookcli.inspect(Net(), torch.ones(3, 4))).Graph()
    nodes = {node.name: node for node in graph.node}
    assert {name: node.op for name, node in nodes.items()} == {
        "Net": "Net",
        "Net/blocks": "Sequential",
        "Net/blocks/0": "Linear",
        "Net/blocks/1": "ReLU",
        "Net/head": "Linear",
    }
    head = nodes["Net/head"]
    assert list(head.input) == ["Net/blocks/1"]  # the call before
    assert list(nodes["Net/blocks/1"].input) == ["Net/blocks/0"]
    [shape] = head.attr["_output_shapes"].list.shape
    assert [dim.size for dim in shape.dim] == [3, 2]
    assert head.attr["name"].s == b"head"


def test_the_plugins_of_tensorboard_find_their_data(tmp_path):
    """As the server reads it, which migrates the data of older formats."""
    made, _ = trained(1)
    add_files(tmp_path, TENSORBOARD.files(made, View()))
    events = plugin_event_accumulator.EventAccumulator(str(tmp_path)).Reload()
    plugins = {
        tag: events.SummaryMetadata(tag).plugin_data.plugin_name for tag in events.Tags()["tensors"]
    }
    assert plugins["loss"] == "scalars"
    assert plugins["gradients/head.weight"] == "histograms"
    assert plugins["hookcli/report"] == "text"
    assert events.Tags()["graph"]
    [point] = events.Tensors("gradients/head.weight")
    buckets = make_ndarray(point.tensor_proto)  # left edge, right edge, count
    figures = next(row.grad for row in made.parameters if row.name == "head.weight")
    assert (buckets[0, 0], buckets[-1, 1]) == pytest.approx((figures["min"], figures["max"]))
    assert buckets[:, 2].sum() == pytest.approx(16, rel=1e-5)


def test_names_of_nodes_are_unique_and_have_no_special_characters(read):
    rows = (
        layer(0, "", "Net", None),
        *(layer(i, name, "a/b", 0, call=i - 4 if i > 4 else 0)
          for i, name in enumerate(("a/b", "a:b", "^c", "ü.\x1b", "a:b", "a:b"), start=1)),
        layer(7, None, "Lambda", 0), layer(8, None, "Lambda", 0),
    )  # fmt: skip
    names = [node.name for node in read(report("inspect", layers=rows)).Graph().node]
    assert len(names) == len({*names}) == len(rows)
    assert names[1:5] == ["Net/a_b", "Net/a_b_1", "Net/_c", "Net/ü/_"]


def test_the_text_is_the_report_in_markdown(read):
    [event] = read(TRACE).Tensors("hookcli/report")
    assert event.tensor_proto.string_val == [FORMATS["markdown"].render(TRACE, View()).encode()]


def test_values_that_are_not_finite_are_kept_as_they_are(read):
    rows = (parameter("a", (2,), grad=stats("nan", nans=1, mean="nan", min="nan", max="nan",
                                            finite=stats(0.3, numel=7))),
            parameter("b", (2,), grad=stats(1e300)))  # fmt: skip
    run = {"losses": ("inf", "-inf", 0.5)}
    events = read(report("grads", parameters=rows, run=run))
    assert values(events, "loss") == [(0, math.inf), (1, -math.inf), (2, 0.5)]
    [(_, norm)] = values(events, "gradient_norm/a")
    assert math.isnan(norm)
    assert values(events, "gradient_norm/b") == [(0, math.inf)]  # as float32, which it is stored as
    [event] = events.Histograms("gradients/a")
    assert event.histogram_value.num == 7  # the finite ones of 8


def test_without_figures_there_is_no_scalar_and_no_histogram(read):
    bare = report("inspect", layers=LAYERS[1:2], run={"losses": ()})
    bare = dataclasses.replace(
        bare,
        layers=(dataclasses.replace(bare.layers[0], output_grad=None, input_grad=None),),
        totals=dataclasses.replace(bare.totals, grad_norm=None),
    )
    tags = read(bare).Tags()
    assert (tags["scalars"], tags["histograms"], tags["graph"]) == ([], [], True)


HOSTILE = ("a/b/c", "\x1b[31m", "\ud800", "ü", "", " ", "x" * 5000, "::error::")


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_can_be_a_tag(name, read):
    rows = (parameter(name, (2,), grad=stats(0.5)),)
    events = read(report("grads", parameters=rows, layers=(layer(0, name, name, None),)))
    [tag] = [tag for tag in events.Tags()["scalars"] if tag.startswith("gradient_norm/")]
    assert values(events, tag) == [(0, 0.5)]
    assert "\x1b" not in tag


def test_every_command_s_report_can_be_written(read):
    for command in ("inspect", "trace", "grads", "check"):
        events = read(dataclasses.replace(GRADS, command=command, layers=LAYERS))
        assert events.Tags()["graph"]
    assert "tensorboard" not in formats_of("diff")


sample = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60) | st.lists(
    st.sampled_from([0.0, 0.0, 1.0, -2.5, 1e-8, 3e4]), min_size=1, max_size=60
)


@settings(deadline=None, max_examples=60)
@given(sample)
def test_a_rebuilt_histogram_has_the_count_the_zeros_and_the_mean_of_the_values(numbers):
    values = torch.tensor(numbers, dtype=torch.float64)
    figures = {
        "numel": len(numbers),
        "mean": float(values.mean().clamp(values.min(), values.max())),
        "std": float(values.std()) if len(numbers) > 1 else None,
        "min": float(values.min()),
        "max": float(values.max()),
        "zeros": int((values == 0).sum()),
        "nans": 0,
        "infs": 0,
    }
    made = rebuild(figures)
    assert len(made.limits) == len(made.counts)
    assert list(made.limits) == sorted(made.limits)
    assert made.limits[-1] == made.max
    assert min(made.counts) >= 0
    assert sum(made.counts) == pytest.approx(len(numbers))
    lefts = [made.min, *made.limits[:-1]]
    middles = [(a + b) / 2 for a, b in zip(lefts, made.limits, strict=True)]
    mean = sum(m * c for m, c in zip(middles, made.counts, strict=True)) / len(numbers)
    spread = made.max - made.min
    assert mean == pytest.approx(figures["mean"], abs=0.03 * spread + 1e-9)
    if 0 < figures["zeros"] < len(numbers) and spread:
        around = [c for a, b, c in zip(lefts, made.limits, made.counts, strict=True) if a <= 0 <= b]
        assert max(around) >= figures["zeros"] * (1 - 1e-9)


@pytest.mark.parametrize("draw", [torch.rand, torch.randn])
def test_a_uniform_and_a_normal_tensor_are_rebuilt_as_what_they_are(draw):
    torch.manual_seed(0)
    values = draw(200_000, dtype=torch.float64)
    figures = {"numel": values.numel(), "mean": float(values.mean()), "std": float(values.std()),
               "min": float(values.min()), "max": float(values.max()), "zeros": 0, "nans": 0,
               "infs": 0}  # fmt: skip
    made = rebuild(figures)
    lefts = [made.min, *made.limits[:-1]]
    for a, b, count in zip(lefts, made.limits, made.counts, strict=True):
        real = int(((values > a) & (values <= b)).sum())
        assert count == pytest.approx(real, rel=0.1, abs=100)


@pytest.mark.parametrize(
    "change",
    [{"mean": None}, {"min": None}, {"std": None}, {"numel": 0}, {"numel": None}, {"max": "inf"},
     {"mean": 9.0}],
)  # fmt: skip
def test_a_tensor_without_the_figures_has_no_histogram(change):
    assert rebuild({**stats(0.5), **change}) is None


def test_files_of_other_runs_stay(tmp_path):
    (tmp_path / "events.out.tfevents.1.other").write_bytes(b"theirs")
    for _ in range(2):
        add_files(tmp_path, TENSORBOARD.files(TRACE, View()))
    assert (tmp_path / "events.out.tfevents.1.other").read_bytes() == b"theirs"
    assert len([*tmp_path.iterdir()]) == 3


@pytest.mark.parametrize("fails", ["write", "rename", "mkdir"])
def test_if_writing_fails_nothing_is_left(fails, tmp_path, monkeypatch):
    def refuse(*args, **more):
        raise OSError(28, "No space left on device")

    folder = tmp_path / "deep" / "runs"
    if fails == "write":
        monkeypatch.setattr("os.fdopen", refuse)
    elif fails == "rename":
        monkeypatch.setattr("pathlib.Path.replace", refuse)
    else:
        (tmp_path / "deep").write_text("a file")
    with pytest.raises(RequestError) as caught:
        add_files(folder, {"a": b"1", "b": b"2"})
    assert caught.value.message.startswith(f"cannot write {folder}: ")
    assert caught.value.status == 2
    assert [*tmp_path.rglob("*")] == ([tmp_path / "deep"] if fails == "mkdir" else [])


@pytest.mark.parametrize("inside", ["", "deep/runs"])
@pytest.mark.parametrize("target", ["nothing", "link"])
def test_a_link_to_nothing_is_refused_before_the_run(target, inside, tmp_path):
    (tmp_path / "link").symlink_to(target)  # Path.mkdir does not create what a link names
    folder = tmp_path / "link" / inside
    with pytest.raises(RequestError) as caught:
        check_folder_format(TENSORBOARD, folder)
    assert caught.value.message.startswith(f"cannot write {folder}: {tmp_path / 'link'} is a link")


def test_if_a_folder_cannot_be_written_no_file_is(tmp_path):
    kept = tmp_path / "report.json"
    kept.write_text("theirs")
    (tmp_path / "runs").write_text("not a folder")
    with pytest.raises(RequestError):
        write_files([(kept, "ours")], [(tmp_path / "runs", {"events": b""})])
    assert kept.read_text() == "theirs"


def test_without_the_package_the_hint_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setattr("hookcli.cli.targets.folders.find_spec", lambda name: None)
    with pytest.raises(RequestError) as caught:
        check_folder_format(TENSORBOARD, tmp_path / "runs")
    assert caught.value.message == "format tensorboard requires the package tensorboard"
    assert caught.value.hint == "run `pip install 'hookcli[tensorboard]'`"


def test_outputs_with_several_tensors_have_a_histogram_each(read):
    leaves = (Leaf("[0]", (2,), "float32", stats=stats(1.0)), Leaf("[1]", (2,), "float32"))
    rows = (layer(0, "cell", "Cell", None, outputs=leaves, call=2),)
    tags = read(report("trace", layers=rows)).Tags()["histograms"]
    assert tags == ["outputs/cell[0] call 2"]
