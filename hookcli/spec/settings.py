"""The settings of a run: each row is a flag, a key of `run`, and the check of an argument.

`hookcli.cli.flags.options` lists the flags, `hookcli.config.sections.run` makes the keys, and the
functions of the Python API, which list their arguments, accept what a key accepts. What a run uses
is the field of RunSpec.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, get_args

from hookcli.sentences import not_floating_point, unknown
from hookcli.spec.inputs import FLOATING, canonical_dtype
from hookcli.spec.losses import LOSS_HINT, OWN_LOSSES, nearest_loss, parse_named_loss
from hookcli.spec.request import DEVICES, MOST, CompiledLayers, Mode, TensorsOption, is_device
from hookcli.spec.what_if import parse_what_if
from hookcli.text import nearest, try_instead


class Form(Enum):
    """The form of a value."""

    SWITCH = "true or false"
    CHOICE = "one of some words"
    COUNT = "an integer from `least` to the largest int64"
    NUMBER = "a number above 0, up to `most`"
    TEXT = "a string"
    TEXTS = "one string or several"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `text` is the help of the flag, `key` that of the key and the argument.

    `words` are those of a choice. `parse` returns the value of a string; it raises ValueError with
    a message and a hint. `field` is the field of RunSpec, if it has another name, and `convert`
    returns its value. `expected` describes a string. `default` is the default that the help names.
    """

    name: str
    form: Form
    text: str
    key: str
    metavar: str | None = None
    default: str | None = None
    section: str = "Run"
    words: tuple[str, ...] = ()
    least: int = 0
    most: float = MOST
    expected: str = ""
    parse: Callable[[str], Any] = str
    field: str = ""
    convert: Callable[[Any], Any] | None = None

    @property
    def flag(self) -> str:
        """The flag: `--no-grad`."""
        return f"--{self.name.replace('_', '-')}"


def parse_device(text: str) -> str:
    """Return the name of a device as torch has it: "cpu", "cuda:1"."""
    if is_device(text):
        return text
    kind = text.partition(":")[0]
    guess = "cuda" if kind == "gpu" else nearest(kind, DEVICES)
    hint = try_instead(guess, f"choose from {', '.join(DEVICES)}, cuda:1")
    raise ValueError(unknown("device", text), hint)


def parse_dtype(text: str) -> str:
    """Return a floating-point dtype by torch's own name."""
    dtype = canonical_dtype(text)
    if dtype in FLOATING:
        return dtype
    hint = try_instead(nearest(text, FLOATING), f"choose from {', '.join(FLOATING)}")
    raise ValueError(not_floating_point(text), hint)


def parse_loss(text: str) -> str:
    """Return the loss: a name, or what only the run can find, a function or output:PATH."""
    if text in OWN_LOSSES or parse_named_loss(text) is not None:
        return text
    if ":" in text or text.startswith("torch.ops."):
        return text
    raise ValueError(unknown("loss", text), try_instead(nearest_loss(text), LOSS_HINT))


_ROWS = (
    Setting(
        "mode",
        Form.CHOICE,
        "Mode of the model: train(), eval(), or as it was constructed.",
        "the mode to run in",
        words=get_args(Mode),
    ),
    Setting(
        "seed",
        Form.COUNT,
        "Seed of torch, random and numpy.",
        "the seed of torch, random and numpy",
        metavar="N",
        default="0",
    ),
    Setting(
        "loss",
        Form.TEXT,
        "Loss to differentiate: probe (a random weighting of the outputs), sum, mean, output:PATH, "
        'file.py:function, a loss of torch.nn such as "cross_entropy(label_smoothing=0.1)", labels '
        "or training_step.",
        "the value that backward starts from",
        metavar="LOSS",
        default="the output named loss, else probe",
        expected=f"one of {', '.join(OWN_LOSSES)}, output:PATH, file.py:fn or a loss of torch.nn "
        "such as cross_entropy(label_smoothing=0.1)",
        parse=parse_loss,
    ),
    Setting(
        "steps",
        Form.COUNT,
        "Number of steps: forward, backward and an optimizer step (SGD, or run.optimizer of the "
        "configuration).",
        "the number of steps: forward, backward and optional optimizer step",
        metavar="N",
        default="1",
        least=1,
    ),
    Setting(
        "batch_size",
        Form.COUNT,
        "Number of samples, if the batch is inferred.",
        "the number of samples in an inferred batch",
        metavar="N",
        default="2",
        section="Batch",
        least=1,
    ),
    Setting(
        "device",
        Form.TEXT,
        "Device to run on: cpu, cuda, cuda:1, mps, xpu.",
        "the device to run on",
        metavar="DEVICE",
        default="cpu",
        expected="a device such as cpu, cuda or cuda:1",
        parse=parse_device,
    ),
    Setting(
        "dtype",
        Form.TEXT,
        "Cast the model to a floating-point dtype, such as bfloat16.",
        "the dtype that the model is cast to",
        metavar="DTYPE",
        expected="a dtype such as float32 or bfloat16",
        parse=parse_dtype,
    ),
    Setting(
        "tensors",
        Form.CHOICE,
        "Kind of tensors. fake: shapes without values; real: with values; auto: fake, and real if "
        "that fails.",
        "fake: shapes without values; real: with values; auto: fake, and real on failure",
        default="auto",
        words=get_args(TensorsOption),
    ),
    Setting(
        "no_grad",
        Form.SWITCH,
        "Run without autograd.",
        "run without autograd",
        field="grad",
        convert=operator.not_,
    ),
    Setting(
        "python",
        Form.TEXT,
        "Python that runs the model: an interpreter, the folder of an environment, or a command. "
        "HOOKCLI_PYTHON sets it too.",
        "the Python that runs the model",
        metavar="PATH",
        default="hookcli's own if it has torch, else $VIRTUAL_ENV, $CONDA_PREFIX or ./.venv",
        expected="an interpreter, the folder of an environment, or a command",
    ),
    Setting(
        "timeout",
        Form.NUMBER,
        "Time limit of the whole command.",
        "the time limit of the whole command, in seconds",
        metavar="SECONDS",
        default="600",
        convert=float,
    ),
    Setting(
        "max_memory",
        Form.NUMBER,
        "Memory limit of the model's processes, in gigabytes.",
        "the memory limit of the model's processes, in GB",
        metavar="GB",
        convert=lambda gigabytes: int(gigabytes * 1e9),  # bytes
    ),
    Setting(
        "flops",
        Form.SWITCH,
        "Count the FLOPs of each layer.",
        "count FLOPs even if the command does not do so by default",
    ),
    Setting(
        "compiled",
        Form.CHOICE,
        "Run the model as its file compiles it, with figures of layers that compiled code writes: "
        "norms, or more statistics.",
        "what is observed of a model that runs compiled: norms of layers, or more statistics",
        default="the model runs without torch.compile",
        words=get_args(CompiledLayers),
    ),
    Setting(
        "verify_neutral",
        Form.SWITCH,
        "Run again without hooks, and compare outputs and gradients bit by bit.",
        "run the model twice more without hooks, and compare the results",
        section="Hooks",
    ),
    Setting(
        "per_sample",
        Form.SWITCH,
        "Give the loss and the gradient norm of each sample of the batch, if samples are "
        "independent.",
        "measure the loss and the gradient norm of each sample of the batch",
    ),
    Setting(
        "memory",
        Form.SWITCH,
        "Run backward too, in train mode, and measure the memory of each layer and of training.",
        "measure the memory of each call, and of training",
    ),
    Setting(
        "what_if",
        Form.TEXTS,
        "Give the memory of training with another batch, dtype, autocast or optimizer, such as "
        "batch=32,optimizer=adamw; repeatable.",
        "other batch sizes, dtypes and optimizers to give the memory of training for",
        metavar="K=V,K=V",
        expected="such as batch=32,optimizer=adamw",
        parse=parse_what_if,
    ),
)

SETTINGS: dict[str, Setting] = {row.name: row for row in _ROWS}
