"""The broken samples are broken as they say, by plain PyTorch, and hookcli finds it."""

import importlib.util
import json

import torch

from tests.conftest import SAMPLES, run_cli

BROKEN = SAMPLES / "broken"


def built(name):
    spec = importlib.util.spec_from_file_location(f"broken_{name}", BROKEN / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    torch.manual_seed(0)
    spec.loader.exec_module(module)
    return module.Classifier().train(), module.example_inputs()


def test_the_first_value_that_is_not_finite_is_that_of_log_share():
    model, batch = built("log_of_zero")
    hidden = model.encoder(*batch)
    assert hidden.isfinite().all()
    assert not model.log_share(hidden).isfinite().all()
    result = run_cli("check", BROKEN / "log_of_zero.py")
    assert result.status == 1
    assert "-Inf first appears in 'log_share'" in " ".join(result.out.split())


def test_each_parameter_without_a_gradient_is_one_that_autograd_does_not_reach():
    model, batch = built("missing_gradients")
    model(*batch).square().sum().backward()
    expected = {
        name: "none" if p.grad is None else "ok" if p.grad.any() else "zero"
        for name, p in model.named_parameters()
    }
    assert set(expected.values()) == {"none", "zero", "ok"}
    result = run_cli("grads", BROKEN / "missing_gradients.py", "-f", "json")
    rows = json.loads(result.out)["parameters"]
    assert {row["name"]: row["status"] for row in rows} == expected


def test_only_the_empty_document_makes_the_sample_training_nan():
    spec = importlib.util.spec_from_file_location(
        "empty_document", SAMPLES / "training" / "empty_document.py"
    )
    module = importlib.util.module_from_spec(spec)
    torch.manual_seed(0)
    spec.loader.exec_module(module)
    words, lengths, labels = module.documents()
    means = module.MeanOfWords()(words, lengths)
    bad = means.isnan().any(dim=1).nonzero().flatten().tolist()
    assert [number // module.BATCH for number in bad] == [400]
    scores = module.Classifier()(words[1600:1604], lengths[1600:1604])
    assert torch.nn.functional.cross_entropy(scores, labels[1600:1604]).isnan()


def test_the_gradients_of_the_first_layers_are_as_small_as_autograd_says():
    spec = importlib.util.spec_from_file_location("broken_sigmoids", BROKEN / "sigmoids.py")
    module = importlib.util.module_from_spec(spec)
    torch.manual_seed(0)
    spec.loader.exec_module(module)
    model = module.DeepClassifier()
    torch.manual_seed(0)
    model(*module.example_inputs()).sum().backward()
    first, last = model.hidden[0].weight.grad, model.head.weight.grad
    assert 0 < first.double().norm() < 1e-20 * last.norm()
    result = run_cli("grads", BROKEN / "sigmoids.py", "--loss", "sum", "-f", "json")
    diagnosis = json.loads(result.out)["diagnoses"][0]
    assert (diagnosis["cause"], diagnosis["target"]) == ("vanishing_gradient", "hidden.0")
    size = (first.double().square().mean() ** 0.5).item()
    assert f"to {size:.2g} at 'hidden.0'" in diagnosis["sentence"]
