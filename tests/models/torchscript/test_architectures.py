"""Samples and architectures of transformers, traced: calls, order, outputs and gradients."""

from __future__ import annotations

import importlib.util
import sys
import warnings

import pytest
import torch
from torch import nn

from benchmarks.proof.small import SMALL, config_of
from hookcli.models.batch import Batch, as_batch
from tests.conftest import SAMPLES
from tests.models.torchscript.sides import (
    calls,
    loaded,
    norms,
    observed,
    same_norms,
    scripted,
    traced,
)

ARCHITECTURES = (
    "bert", "roberta", "distilbert", "albert", "electra", "deberta", "mpnet", "fnet",
    "nystromformer", "squeezebert", "gpt2", "gpt_neo", "gpt_neox", "gptj", "falcon", "llama",
    "mistral", "qwen2", "gemma", "phi", "phi3", "olmo2", "stablelm", "starcoder2", "mixtral", "vit",
    "deit", "beit", "resnet", "pvt",
)  # fmt: skip
SCRIPTED = ("inplace_resnet", "lstm_tagger")
TRACED = ("inplace_resnet", "lstm_tagger", "moe", "tiny_gpt", "unet")


def registered(recording):
    """The calls of registered modules. Tracing inlines what is not registered."""
    return [(c.name, c.type, c.index, c.depth) for c in recording.calls if c.name is not None]


def sizes(recording):
    return {
        (c.name, c.index): [shape for _, shape, *_ in c.outputs]
        for c in recording.calls
        if c.name is not None
    }


def told_alike(model, script, x):
    """A traced module gives what others take: at times more than in Python, at times less."""
    eager, found = observed(model, x), observed(script, x)
    assert registered(found) == registered(eager)
    python, traced_ = sizes(eager), sizes(found)
    for key, shapes in traced_.items():
        common = [shape for shape in shapes if shape in python[key]]
        assert common or not shapes, (key, shapes, python[key])
    assert same_norms(norms(script, found), norms(model, eager))


def sample(name):
    spec = importlib.util.spec_from_file_location(f"traced_{name}", SAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    kind = [
        one for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, nn.Module) and one.__module__ == spec.name
    ][-1]  # fmt: skip
    return kind().eval(), as_batch(module.example_inputs())


@pytest.mark.parametrize("name", SCRIPTED)
def test_a_sample_scripted(name):
    model, x = sample(name)
    script = loaded(scripted(model))
    eager, found = observed(model, x), observed(script, x)
    assert calls(found) == calls(eager)
    assert sizes(found) == sizes(eager)
    assert same_norms(norms(script, found), norms(model, eager))


@pytest.mark.parametrize("name", TRACED)
def test_a_sample_traced(name):
    model, x = sample(name)
    told_alike(model, loaded(traced(model, *x.args, **x.kwargs)), x)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_an_architecture_traced(name):
    import transformers

    one = SMALL[name]
    kind = getattr(transformers, one.model)
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(kind.config_class(**config_of(one, kind.config_class))).eval()
    model.config.use_cache, model.config.return_dict = False, False
    inputs = {
        key: torch.randint(0, high, shape) if high else torch.randn(shape)
        for key, shape, high in one.inputs
    }
    told_alike(model, loaded(traced(model, **inputs)), Batch((), inputs))
