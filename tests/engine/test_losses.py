"""Losses and batches as people write them: each figure is that of plain PyTorch.

The loss and the norm of every gradient are compared with those of a script by hand.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

import hookcli
from hookcli.cli.flags.options import RequestFlags, RunFlags
from hookcli.cli.snapshot_request import kept_request
from hookcli.config.load import read_config
from hookcli.engine.attempt import Session
from hookcli.engine.losses.named import NamedCriterion
from hookcli.errors import ModelError, RequestError
from hookcli.formats.parts.summary import head
from hookcli.models.batch import Batch
from hookcli.spec.inputs import TARGET, parse_inputs
from hookcli.spec.losses import TABLE, parse_named_loss
from hookcli.spec.request import Attempt, ModelSpec, RunSpec, Spec

from . import loss_models as own

FILE = Path(own.__file__)


def grads(model, *inputs, target=(), command="grads", **run):
    """The report of `hookcli grads`, in this process."""
    inputs = tuple(text.replace("HERE", str(FILE)) for text in inputs)
    targets = parse_inputs(tuple(t.replace("HERE", str(FILE)) for t in target), TARGET)
    run["loss"] = run.get("loss", "probe").replace("HERE", str(FILE))
    source = model if ":" in model else f"{FILE}:{model}"
    spec = Spec(
        command,
        ModelSpec(source),
        inputs=parse_inputs(inputs),
        run=RunSpec(targets=targets, **run),
    )
    return Session(spec, Attempt("real"), lambda *_: None).run().report


def by_hand(model, compute):
    """(the loss, the norm of each parameter's gradient) by plain PyTorch."""
    torch.manual_seed(0)
    net = (getattr(own, model)() if isinstance(model, str) else model()).train()
    torch.manual_seed(0)
    loss = compute(net)
    loss.backward()
    return loss.item(), {
        name: None if p.grad is None else p.grad.norm().item() for name, p in net.named_parameters()
    }


def held(report, model, compute):
    """The report has the loss and the gradients of the script."""
    assert report.error is None, report.error
    loss, norms = by_hand(model, compute)
    assert report.run.losses == (pytest.approx(loss, rel=1e-6),)
    rows = {row.name: row.grad and row.grad["norm"] for row in report.parameters}
    assert rows == {name: pytest.approx(norm, rel=1e-5) for name, norm in norms.items()}


def drawn(*shapes):
    """Normal random numbers, as hookcli makes them of shapes with seed 0."""
    torch.manual_seed(0)
    return [torch.randn(shape) for shape in shapes]


def of_classifier(loss):
    return lambda net: loss(net(own.X), own.Y)


# The functions of users, with a batch from a loader -----------------------------------------------

FUNCTIONS = {
    "output_only": lambda out, y: out.pow(2).mean(),
    "with_target": F.cross_entropy,
    "with_any_name": F.cross_entropy,
    "swapped": F.cross_entropy,
    "with_batch": lambda out, y: F.cross_entropy(out, y) + out.sum() * own.X.sum(),
    "with_options": lambda out, y: F.cross_entropy(out, y, reduction="sum"),
    "any_arguments": F.cross_entropy,
    "with_both": lambda out, y: F.cross_entropy(out, y) + out.mean() * own.X.sum(),
    "smooth": lambda out, y: F.cross_entropy(out, y, label_smoothing=0.2),
    "instance": lambda out, y: F.cross_entropy(out, y, label_smoothing=0.2),
    "Focal": lambda out, y: own.Focal()(out, y),
    "Callable": F.cross_entropy,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_gets_what_its_parameters_name(name):
    report = grads("Classifier", "HERE:loader", loss=f"HERE:{name}")
    held(report, "Classifier", of_classifier(FUNCTIONS[name]))
    assert report.run.loss.endswith(f":{name}")
    assert report.inputs.target_origin == "batch"


# Where the batch comes from -----------------------------------------------------------------------

LOADERS = ("loader", "samples", "stream", "own_loader", "endless", "pair", "pair_list",
           "with_label", "plain", "workers", "kept_workers")  # fmt: skip


@pytest.mark.parametrize("name", LOADERS)
def test_the_first_batch_is_inputs_and_target(name):
    own.DRAWN.clear()
    report = grads("Classifier", f"HERE:{name}", loss="cross_entropy", batch_size=4)
    held(report, "Classifier", of_classifier(F.cross_entropy))
    assert report.inputs.target == {"shape": (4,), "dtype": "int64"}
    assert report.inputs.args or set(report.inputs.kwargs) == {"x"}
    if name == "endless":
        from loss_models import DRAWN  # the module that hookcli imported

        assert DRAWN[-1:] in ([], [0])


def test_the_workers_of_a_loader_are_ended():
    import multiprocessing

    for name in ("workers", "kept_workers"):
        grads("Classifier", f"HERE:{name}", loss="cross_entropy")
    assert multiprocessing.active_children() == []


def test_a_dataset_is_collated_to_the_batch_size():
    report = grads("Classifier", "HERE:samples", loss="cross_entropy", batch_size=3)
    assert report.inputs.target == {"shape": (3,), "dtype": "int64"}
    held(report, "Classifier", lambda net: F.cross_entropy(net(own.X[:3]), own.Y[:3]))


def test_what_a_list_of_batches_contains_is_not_drawn():
    """A list is a batch itself, as ever: of pairs, it is one argument."""
    report = grads("Classifier", "HERE:a_list")
    assert report.error.phase == "forward"


def test_a_mapping_goes_by_keyword_or_as_one_argument():
    report = grads("OfDict", "HERE:mapping", loss="mean")
    held(report, "OfDict", lambda net: net(own.mapping()).mean())
    assert set(report.inputs.args[0]["dict"]) == {"image", "mask"}
    report = grads("OfDict", "batch={image: 2x3x8x8, mask: 2x8x8}", loss="mean")
    image, mask = drawn((2, 3, 8, 8), (2, 8, 8))
    held(report, "OfDict", lambda net: net({"image": image, "mask": mask}).mean())


def test_a_loader_of_grouped_inputs_is_taken_apart():
    report = grads("Siamese", "HERE:pairs", loss="cosine_embedding(margin=0.1)")
    # the target is 0 to 3 here, so only those of 1 count
    held(
        report,
        "Siamese",
        lambda net: F.cosine_embedding_loss(*net(own.X, own.X.flip(0)), own.Y.float(), margin=0.1),
    )


def test_an_optional_parameter_for_the_target_gets_it():
    report = grads("Generator", "HERE:tokens", loss="output:[1]")
    held(report, "Generator", lambda net: net(own.IDS, own.IDS.flip(1))[1])


# Losses of torch.nn -------------------------------------------------------------------------------


def test_a_segmentation_model_with_a_dict_output():
    report = grads("Segmenter", "HERE:images", loss="CrossEntropyLoss(label_smoothing=0.1)")
    held(
        report,
        "Segmenter",
        lambda net: F.cross_entropy(net(own.IMAGE)["out"], own.PIXELS, label_smoothing=0.1),
    )
    assert report.run.loss == "CrossEntropyLoss(label_smoothing=0.1)"


@pytest.mark.parametrize(
    ("loss", "compute"),
    [
        ("mse", F.mse_loss),
        ("nn.L1Loss", F.l1_loss),
        ("F.huber_loss(delta=0.5)", lambda a, b: F.huber_loss(a, b, delta=0.5)),
        ("smooth_l1(beta=0.3)", lambda a, b: F.smooth_l1_loss(a, b, beta=0.3)),
        ("bce_with_logits(pos_weight=3.0)",
         lambda a, b: F.binary_cross_entropy_with_logits(a, b, pos_weight=torch.tensor(3.0))),
        ("poisson_nll", F.poisson_nll_loss),
    ],
)  # fmt: skip
def test_a_loss_by_name_with_a_target_by_flag(loss, compute):
    report = grads("Classifier", "4x6", target=("4x4:float32:rand",), loss=loss)
    (x,) = drawn((4, 6))
    target = torch.rand(4, 4)
    held(report, "Classifier", lambda net: compute(net(x), target))
    assert report.inputs.target_origin == "given"


def test_the_classes_may_be_in_the_last_dimension():
    report = grads("Language", "HERE:tokens", loss="cross_entropy(ignore_index=3)")
    held(
        report,
        "Language",
        lambda net: F.cross_entropy(
            net(own.IDS).flatten(0, 1), own.IDS.flip(1).flatten(), ignore_index=3
        ),
    )


def test_ctc_takes_its_lengths_or_makes_them():
    parts = ("targets=2x3:int64:1..6", "input_lengths=value:[7, 5]", "target_lengths=value:[3, 2]")
    report = grads("Speech", "7x2x4", target=parts, loss="ctc")
    (x,) = drawn((7, 2, 4))
    ids = torch.randint(1, 6, (2, 3))
    held(report, "Speech", lambda net: F.ctc_loss(net(x), ids, [7, 5], [3, 2]))
    report = grads(
        "Speech", "7x2x4", target=("2x3:int64:1..6",), loss="CTCLoss(zero_infinity=True)"
    )
    held(report, "Speech", lambda net: F.ctc_loss(net(x), ids, (7, 7), (3, 3)))


def test_a_target_is_a_file_or_a_function(tmp_path):
    torch.save(own.Y, tmp_path / "y.pt")
    for spec in (str(tmp_path / "y.pt"), "HERE:make_targets"):
        report = grads("Classifier", "4x6", target=(spec,), loss="cross_entropy")
        (x,) = drawn((4, 6))
        held(report, "Classifier", lambda net, x=x: F.cross_entropy(net(x), own.Y))


# The model's own losses ---------------------------------------------------------------------------


def lit_loss(net):
    return F.cross_entropy(net(own.X), own.Y)


@pytest.mark.parametrize(
    ("model", "inputs"),
    [("Lit", ("HERE:loader",)), ("Lit", ("HERE:endless",)), ("LitWithLoader", ())],
)
def test_a_training_step_gets_the_batch_of_the_loader(model, inputs):
    report = grads(model, *inputs, loss="training_step")
    held(report, model, lit_loss)
    assert report.run.loss == "training_step"
    assert [row.name for row in report.layers] == ["", "net", "net.hidden", "net.head"]


def test_a_training_step_gets_the_flags_as_a_pair():
    report = grads("Lit", "4x6", target=("4:int64:0..4",), loss="training_step")
    (x,) = drawn((4, 6))
    y = torch.randint(0, 4, (4,))
    held(report, "Lit", lambda net: F.cross_entropy(net(x), y))


# What goes wrong in a loss is said of the loss ----------------------------------------------------


def line_of(name):
    lines = FILE.read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.startswith(f"def {name}("))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a_number", "must return a tensor, got float"),
        ("not_reduced", r"must return one element, got shape \[4, 4\]"),
        ("cut_off", "returned a tensor that does not require grad"),
        ("counts", "must return a floating-point tensor, got int64"),
    ],
)
def test_a_loss_that_returns_something_else(name, said):
    error = grads("Classifier", "HERE:loader", loss=f"HERE:{name}").error
    assert (error.phase, error.layer) == ("loss", None)
    assert error.place.endswith(f"loss_models.py:{line_of(name)}")
    with pytest.raises(AssertionError, match=said):
        raise AssertionError(error.message)
    assert error.hint


def test_a_loss_that_raises_has_its_own_line():
    error = grads("Classifier", "HERE:loader", loss="HERE:raises").error
    assert (error.phase, error.type, error.message) == ("loss", "ValueError", "no such class")
    assert error.place.endswith(f"loss_models.py:{line_of('raises') + 1}")


def test_a_loss_without_the_output_is_noted():
    report = grads("Classifier", "HERE:loader", loss="HERE:of_parameters")
    assert any("does not depend on the output" in text for text in report.warnings)
    assert {row.status for row in report.parameters} == {"none"}


def test_a_loss_that_is_nan_has_the_place_of_the_function():
    report = grads("Classifier", "HERE:loader", loss="HERE:is_nan")
    assert report.run.losses == ("nan",)
    assert report.run.loss_place.endswith(f":{line_of('is_nan')}")


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        ("HERE:with_target", "requires a target, and none was given"),
        ("HERE:too_many", r"must have the parameters .*, got \(a, b, c, d\)"),
        ("training_step", "Classifier has no method training_step"),
        ("labels", "it has no parameter 'labels'"),
        ("triplet_margin", "requires 3 tensors of the output, got 1"),
    ],
)
def test_a_loss_that_cannot_be_computed(loss, said):
    with pytest.raises(RequestError, match=said) as caught:
        grads("Classifier", "4x6", loss=loss)
    assert caught.value.hint


def test_a_class_of_losses_that_needs_arguments():
    with pytest.raises(ModelError, match=r"Needy\(\) failed: TypeError"):
        grads("Classifier", "4x6", loss="HERE:Needy")


@pytest.mark.parametrize(
    ("target", "said"),
    [("4:float32", "Long"), ("3:int64:0..4", "batch_size"),
     ("4:int64:7..8", "out of bounds")],
)  # fmt: skip
def test_a_target_that_does_not_fit_is_the_loss_s_error(target, said):
    error = grads("Classifier", "4x6", target=(target,), loss="cross_entropy").error
    assert (error.phase, error.place) == ("loss", "--loss cross_entropy")
    assert said in error.message
    assert target.partition(":")[0] in error.hint


def test_the_line_of_a_training_step_that_fails():
    report = grads("Wrong", "HERE:loader", loss="training_step")
    line = next(i for i, t in enumerate(FILE.read_text().splitlines(), 1) if "x, _, _ = batch" in t)
    assert report.error.phase == "loss"
    assert report.error.place.endswith(f"loss_models.py:{line}")
    assert (
        "must return a loss" in grads("Manual", "HERE:loader", loss="training_step").error.message
    )


# What is kept, and where it is said ---------------------------------------------------------------


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_the_table_of_losses_is_that_of_torch(row):
    """Each name is one of torch's, and each argument one that its function and class have."""
    names = set(inspect.signature(getattr(F, row.function)).parameters)
    assert set(row.options) <= names
    assert set(row.options) <= set(inspect.signature(getattr(torch.nn, row.class_name)).parameters)
    for text in (row.name, row.function, row.class_name, f"torch.nn.functional.{row.function}"):
        assert parse_named_loss(text).row is row


OUTPUTS = {"gaussian_nll": lambda t: t.exp(), "bce": lambda t: t.sigmoid(), "kl_div": F.logsigmoid}


@pytest.mark.filterwarnings("ignore:reduction")  # torch's advice about kl_div
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_made_up_target_fits_and_depends_on_the_seed_only(row):
    made = OUTPUTS.get(row.name, lambda t: t)
    outputs = [made(torch.randn(6, 3, 4, requires_grad=True)) for _ in range(row.outputs)]
    if row.name in {"multi_margin", "multilabel_margin", "cosine_embedding", "triplet_margin"}:
        outputs = [tensor[..., 0] for tensor in outputs]
    if row.name == "ctc":
        outputs = [outputs[0].log_softmax(-1)]
    losses = [
        NamedCriterion(row.name, parse_named_loss(row.name), lambda _: None, seed=seed)
        .loss(tuple(outputs) if row.outputs > 1 else outputs[0], Batch())
        .item()
        for seed in (0, 0, 1)
    ]
    assert losses[0] == losses[1]
    assert torch.tensor(losses).isfinite().all()
    assert row.made is None or losses[0] != losses[2]


def test_a_made_up_target_is_told():
    report = grads("Classifier", "4x6", loss="cross_entropy")
    assert report.inputs.target == {"shape": (4,), "dtype": "int64"}
    assert report.inputs.target_origin == "made"
    assert any("was made up to fit the output" in text for text in report.warnings)
    assert ("target", "int64 [4]  (made up to fit the output)") in head(report)


def test_a_target_that_no_loss_uses_is_told():
    report = grads("Classifier", "HERE:loader")
    assert any("the loss probe ignores the target" in text for text in report.warnings)
    quiet = grads("Classifier", "HERE:loader", command="inspect")
    assert not any("target" in text for text in quiet.warnings)


def test_a_configuration_has_the_loss_and_the_target(tmp_path):
    (tmp_path / "c.yaml").write_text(
        f"model: {FILE}:Classifier\ninputs: ['4x6']\n"
        f"run: {{loss: 'cross_entropy(label_smoothing=0.1)', targets: ['{FILE}:make_targets']}}\n"
    )
    config = read_config(str(tmp_path / "c.yaml"))
    assert config.run["loss"] == "cross_entropy(label_smoothing=0.1)"
    report = (
        Session(
            Spec("grads", config.model, inputs=config.inputs, run=RunSpec(**config.run)),
            Attempt("real"),
            lambda *_: None,
        )
        .run()
        .report
    )
    (x,) = drawn((4, 6))
    loss = lambda net: F.cross_entropy(net(x), own.Y, label_smoothing=0.1)  # noqa: E731
    held(report, "Classifier", loss)


@pytest.mark.parametrize(
    ("run", "said"),
    [("loss: crossentropy", "unknown loss"), ("loss: mse(x=1)", "unknown argument of mse"),
     ("targets: 2xx", "is not an input"), ("targets: no.pt", "file not found")],
)  # fmt: skip
def test_a_wrong_loss_or_target_in_a_configuration(run, said, tmp_path):
    (tmp_path / "c.yaml").write_text(f"run: {{{run}}}\n")
    with pytest.raises(RequestError, match=said) as caught:
        read_config(str(tmp_path / "c.yaml"))
    assert "c.yaml:1: run." in caught.value.place


def test_a_snapshot_keeps_the_loss_and_the_target(tmp_path, monkeypatch):
    (tmp_path / "y.pt").touch()
    monkeypatch.chdir(tmp_path)
    run = RunFlags(loss="mse", targets=("a={b: y.pt, c: [2x3, y.pt]}",))
    request = kept_request(RequestFlags(run=run), tmp_path / "below")
    assert request["run"] == {"loss": "mse", "targets": ["a={b: ../y.pt, c: [2x3, ../y.pt]}"]}
    assert parse_inputs(tuple(request["run"]["targets"]))


def test_python_takes_a_loader_and_a_function():
    report = hookcli.grads(own.Classifier(), own.kept_workers, loss=own.with_batch)
    assert (report.run.loss, report.error) == ("with_batch", None)
    assert report.inputs.target == {"shape": (4,), "dtype": "int64"}
    net = own.Classifier()
    report = hookcli.grads(net, (own.X, own.Y), loss="cross_entropy", mode="as-is")
    assert report.run.losses == (pytest.approx(F.cross_entropy(net(own.X), own.Y).item()),)
    with pytest.raises(RequestError, match="unknown argument of mse 'x'"):
        hookcli.grads(net, own.X, loss="mse(x=1)")


# transformers -------------------------------------------------------------------------------------


def tiny(kind, **more):
    transformers = pytest.importorskip("transformers")
    sizes = {"vocab_size": 30, "num_hidden_layers": 1, "num_attention_heads": 2}
    small = {"hidden_size": 8, "intermediate_size": 8, "max_position_embeddings": 16}
    config = (
        transformers.GPT2Config(n_layer=1, n_embd=8, n_head=2, vocab_size=30, n_positions=16)
        if kind.startswith("GPT2")
        else transformers.BertConfig(**sizes, **small, **more)
    )
    return getattr(transformers, kind)(config).eval()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "more", "labels"),
    [
        ("GPT2LMHeadModel", {}, lambda ids: ids),
        ("BertForMaskedLM", {}, lambda ids: ids),
        ("BertForSequenceClassification", {"num_labels": 3}, (2,)),
        ("BertForSequenceClassification", {"num_labels": 1}, (2,)),
        ("BertForTokenClassification", {"num_labels": 3}, (2, 7)),
    ],
)
def test_labels_give_the_loss_of_transformers(kind, more, labels):
    net = tiny(kind, **more)
    ids = torch.arange(14).reshape(2, 7)
    report = hookcli.grads(net, {"input_ids": ids}, loss="labels", mode="eval")
    assert report.error is None
    shape = (2, 7) if callable(labels) else labels
    assert report.inputs.kwargs["labels"]["shape"] == shape
    if callable(labels):
        net(input_ids=ids, labels=labels(ids)).loss.backward()
        norms = {n: p.grad.norm().item() for n, p in net.named_parameters() if p.grad is not None}
        rows = {row.name: row.grad["norm"] for row in report.parameters if row.grad}
        assert rows == {name: pytest.approx(norm, rel=1e-4) for name, norm in norms.items()}
        expected = net(input_ids=ids, labels=ids).loss.item()
        assert report.run.losses == (pytest.approx(expected, rel=1e-5),)


@pytest.mark.slow
def test_questions_get_positions_and_given_labels_are_kept():
    ids = torch.arange(14).reshape(2, 7)
    report = hookcli.grads(tiny("BertForQuestionAnswering"), {"input_ids": ids}, loss="labels")
    assert {"start_positions", "end_positions"} <= set(report.inputs.kwargs)
    net = tiny("GPT2LMHeadModel")
    given = {"input_ids": ids, "labels": ids.flip(0)}
    report = hookcli.grads(net, given, loss="labels", mode="eval")
    assert report.run.losses == (pytest.approx(net(**given).loss.item(), rel=1e-5),)
