"""The models of the page of false alarms: what the command line gets for each."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.proof.detection.losses import LOSSES
from benchmarks.proof.forks import ROOT
from benchmarks.proof.small import SMALL, config_of

SAMPLES = sorted(path.stem for path in (ROOT / "sample_models").glob("*.py"))
ORDINARY = sorted(
    f"ordinary:{p.stem}" for p in Path(__file__).with_name("detection").glob("bases/[a-z]*.py")
)
FOREIGN = Path(__file__).with_name("foreign")

# Groups, in the order of the page. Those in APART are counted apart: their models are broken or
# strange on purpose.
GROUPS = {
    "sample": "every model of `sample_models/`",
    "ordinary": "the healthy models that the page on detection breaks",
    "transformers": "architectures of transformers with their default configs, made so small that "
    "they run quickly with real tensors",
    "foreign": "models in the style of public code, most with a batch that hookcli infers",
    "blind": "models in the style of public code that were written without a look at the rules, "
    "each with an ordinary batch",
    "timm": "models of timm, without their weights",
    "torchvision": "models of torchvision, without their weights",
    "variation": "samples and ordinary models in eval mode, with another dtype or another seed",
    "training": "ten steps of an optimizer",
    "zoo": "the models of `tests/odd_models`, which are unusual on purpose",
}
APART = {"zoo"}

TIMM = """
convnextv2_atto deit_tiny_patch16_224 edgenext_xx_small efficientvit_m0 ghostnet_050 lcnet_050
mnasnet_050 mobilenetv3_small_050 mobilevit_xxs pvt_v2_b0 regnety_002 resnet10t starnet_s050
test_byobnet test_coatnet test_convnext2 test_efficientnet test_efficientnet_gn test_mambaout
test_maxvit test_nfnet test_resnet test_vit test_vit3 test_vit_relpos tinynet_e
""".split()
TORCHVISION = """
alexnet squeezenet1_0 resnet18 mobilenet_v2 mobilenet_v3_small mnasnet0_5 shufflenet_v2_x0_5
regnet_y_400mf
""".split()

# Models of public style for which no batch, or none of valid values, is inferred.
INPUTS = {
    "WideDeep": "2x13 2x8:int64:0..4",
    "TripletMargin": "2x3x32x32 2x3x32x32 2x3x32x32",
    "ProtoNet": "5x2x1x28x28 4x1x28x28",
    "Autoformerish": "2x96x3 2x96x4 2x72x3 2x72x4",
    "RecurrentPolicy": "2x10 2x16 2",
    "DeepFM": "2x3:int64:0..5",
    "VarArgs": "2x6 2x9",
    "MLPUnbatched": "12",
    "MPNN": "7x11 9x5 9:int64:0..7 9:int64:0..7",
    "TreeLSTMCell": "2x6 2x2x8 2x2x8",
    "CNNLSTM": "2x4x3x64x64",
    "TransformerMT": "7x2:int64:0..60 6x2:int64:0..70 7x7:bool:zeros 6x6:bool:zeros 2x7:bool:zeros "
    "2x6:bool:zeros 2x7:bool:zeros",
}

# The optimizers of ten steps of training. The loss is that of LOSSES, or the default.
TRAINED = {
    **dict.fromkeys(SAMPLES, "{name: Adam, lr: 0.001}"),
    **dict.fromkeys(ORDINARY, "{name: AdamW, lr: 0.001}"),
    **dict.fromkeys(
        ("bert", "gpt2_lm", "llama", "mamba", "t5", "vit", "resnet", "mixtral"),
        "{name: AdamW, lr: 0.0003}",
    ),
}
VARIED = (*SAMPLES, *ORDINARY)
VARIATIONS = {
    "eval": ("--mode", "eval"),
    "seed": ("--seed", "7"),
    "double": ("--dtype", "float64"),
    "bfloat16": ("--dtype", "bfloat16"),
}


@dataclass(frozen=True)
class Case:
    """One run of `hookcli check`: its name, its group, its arguments and its configuration.

    A variation is named `model@variation`: the verdicts on the findings of the model hold for it.
    """

    name: str
    group: str
    words: tuple[str, ...]
    config: str = ""
    imports: tuple[str, ...] = ()

    @property
    def model(self) -> str:
        """The name without the variation."""
        return self.name.partition("@")[0]


def _transformers(name):
    import transformers

    one = SMALL[name]
    kind = getattr(transformers, one.model)
    config = config_of(one, kind.config_class)
    call = {"call": f"transformers:{one.model}.config_class", "args": config}
    words = [f"transformers:{one.model}", "--arg", f"config={json.dumps(call)}"]
    for key, shape, high in one.inputs:
        sizes = "x".join(map(str, shape))
        words += ["--input", f"{key}={sizes}" + (f":int64:1..{high}" if high else "")]
    return tuple(words)


def _words(name):
    if name in SMALL:
        return _transformers(name)
    if name in SAMPLES:
        return (f"sample_models/{name}.py",)
    return (f"benchmarks/proof/detection/bases/{name.removeprefix('ordinary:')}.py",)


def _loss(name):
    loss = LOSSES.get(name.removeprefix("ordinary:")) if name in ORDINARY else None
    return ("--loss", loss) if loss else ()


def _foreign():
    from benchmarks.proof.inferred import HALVES, models

    for half in HALVES:
        for path, name in models(half):
            given = [word for text in INPUTS.get(name, "").split() for word in ("--input", text)]
            yield Case(name, "foreign", (f"{path.relative_to(ROOT)}:{name}", *given))


def _blind():
    from benchmarks.proof.inferred import module_of

    for path in sorted((FOREIGN / "blind").glob("[a-z]*.py")):
        for name, batch in module_of(path).BATCHES.items():
            given = [word for text in batch.split() for word in ("--input", text)]
            yield Case(f"blind:{name}", "blind", (f"{path.relative_to(ROOT)}:{name}", *given))


def _zoo():
    from tests.odd_models import ODD

    source = "tests/odd_models/source.py"
    for name in ODD:
        yield Case(name, "zoo", (f"{source}:{name}", "--input", f"{source}:{name}__batch"))


def _libraries(python):
    for group, names in (("timm", TIMM), ("torchvision", TORCHVISION)):
        for name in names:
            yield Case(f"{group}:{name}", group, (f"{group}:{name}", "--python", python))


def cases(python: str | None) -> list[Case]:
    """Return all cases. Those of timm and torchvision run in the interpreter `python`, if given."""
    groups = {"sample": SAMPLES, "ordinary": ORDINARY, "transformers": SMALL}
    found = [Case(name, group, _words(name)) for group, names in groups.items() for name in names]
    found += [*_foreign(), *_blind()]
    found += _libraries(python) if python else ()
    found += [
        Case(f"{name}@{variation}", "variation", (*_words(name), *flags))
        for name in VARIED
        for variation, flags in VARIATIONS.items()
    ]
    found += [
        Case(
            f"{name}@training",
            "training",
            (*_words(name), "--steps", "10", *_loss(name)),
            f"run: {{optimizer: {optimizer}}}\n",
        )
        for name, optimizer in TRAINED.items()
    ]
    return [*found, *_zoo()]


def imports() -> tuple[str, ...]:
    """Return the modules of transformers that the cases use, to import them once."""
    import transformers

    kinds = {getattr(transformers, one.model) for one in SMALL.values()}
    return tuple(sorted(kind.__module__ for kind in kinds if kind.__module__ in sys.modules))
