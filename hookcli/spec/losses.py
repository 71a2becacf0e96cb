"""The losses that have a name, in one table, and the grammar of `--loss`. Without torch.

LOSS = "probe" | "sum" | "mean" | "labels" | "training_step" | "output:" PATH
     | FILE.py ":" FUNCTION | NAME [ "(" KEY "=" VALUE {"," KEY "=" VALUE} ")" ]
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from hookcli.sentences import given_twice, unknown
from hookcli.text import nearest, try_instead

OWN_LOSSES = ("probe", "sum", "mean", "labels", "training_step")
LABELS, TRAINING_STEP = "labels", "training_step"

# How a target that fits the output is made up, if none is given.
MadeTarget: TypeAlias = Literal[
    "classes", "normal", "binary", "signs", "pair_signs", "counts", "distribution", "label_lists",
    "sequences",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class LossRow:
    """A loss of torch.nn.functional. It takes `outputs` tensors of the output, and a target.

    The target comes after them, or at the position `target_at`. `made` tells how a target is made
    up; it is None if the loss takes no target. `options` are its other arguments.
    """

    function: str
    class_name: str
    made: MadeTarget | None
    options: tuple[str, ...] = ("reduction",)
    outputs: int = 1
    target_at: int | None = None
    short: str = ""
    needs_values: bool = False

    @property
    def name(self) -> str:
        """Its short name: "mse" for mse_loss."""
        return self.short or self.function.removesuffix("_loss")


_MARGIN = ("margin", "reduction")
TABLE = (
    LossRow(
        "cross_entropy",
        "CrossEntropyLoss",
        "classes",
        ("weight", "ignore_index", "reduction", "label_smoothing"),
    ),
    LossRow("nll_loss", "NLLLoss", "classes", ("weight", "ignore_index", "reduction")),
    LossRow("mse_loss", "MSELoss", "normal"),
    LossRow("l1_loss", "L1Loss", "normal"),
    LossRow("smooth_l1_loss", "SmoothL1Loss", "normal", ("reduction", "beta")),
    LossRow("huber_loss", "HuberLoss", "normal", ("reduction", "delta")),
    LossRow("binary_cross_entropy", "BCELoss", "binary", ("weight", "reduction"), short="bce"),
    LossRow(
        "binary_cross_entropy_with_logits",
        "BCEWithLogitsLoss",
        "binary",
        ("weight", "reduction", "pos_weight"),
        short="bce_with_logits",
    ),
    LossRow("kl_div", "KLDivLoss", "distribution", ("reduction", "log_target")),
    LossRow(
        "poisson_nll_loss", "PoissonNLLLoss", "counts", ("log_input", "full", "eps", "reduction")
    ),
    LossRow(
        "gaussian_nll_loss",
        "GaussianNLLLoss",
        "normal",
        ("full", "eps", "reduction"),
        outputs=2,
        target_at=1,
    ),
    LossRow(
        "ctc_loss",
        "CTCLoss",
        "sequences",
        ("blank", "reduction", "zero_infinity"),
        needs_values=True,
    ),
    LossRow("multi_margin_loss", "MultiMarginLoss", "classes", ("p", *_MARGIN, "weight")),
    LossRow("multilabel_margin_loss", "MultiLabelMarginLoss", "label_lists"),
    LossRow(
        "multilabel_soft_margin_loss", "MultiLabelSoftMarginLoss", "binary", ("weight", "reduction")
    ),
    LossRow("soft_margin_loss", "SoftMarginLoss", "signs"),
    LossRow("hinge_embedding_loss", "HingeEmbeddingLoss", "signs", _MARGIN),
    LossRow("cosine_embedding_loss", "CosineEmbeddingLoss", "pair_signs", _MARGIN, outputs=2),
    LossRow("margin_ranking_loss", "MarginRankingLoss", "signs", _MARGIN, outputs=2),
    LossRow(
        "triplet_margin_loss", "TripletMarginLoss", None, (*_MARGIN, "p", "eps", "swap"), outputs=3
    ),
)
NAMES = tuple(row.name for row in TABLE)
TENSOR_OPTIONS = frozenset(("weight", "pos_weight"))
_ROWS = {
    name: row
    for row in TABLE
    for name in (row.name, row.function, row.function.removesuffix("_loss"), row.class_name)
}
_PREFIX = re.compile(r"(?:torch\.)?(?:nn\.)?(?:functional\.|F\.)?")
_CALL = re.compile(r"\s*([A-Za-z_][\w.]*)\s*(\(.*\))?\s*", re.DOTALL)
_LONGEST = 1000  # characters: the parser of Python is slow, and deep, on long texts
_CALL_HINT = "write `cross_entropy(label_smoothing=0.1)`, with values that are numbers or lists"
LOSS_HINT = (
    f"choose from {', '.join(OWN_LOSSES)}, output:PATH, file.py:function or a loss of torch.nn: "
    "cross_entropy, mse, bce"
)


@dataclass(frozen=True, slots=True)
class NamedLoss:
    """A loss of the table with its options. `output` is the path of the tensor it is computed from.

    Without `output`, the tensor is chosen by the structure of the model's output.
    """

    row: LossRow
    options: tuple[tuple[str, Any], ...] = ()
    output: str | None = None


def parse_named_loss(text: str) -> NamedLoss | None:
    """Return the loss of torch.nn that a string names; None if it names none.

    Raises
    ------
    ValueError : its options are wrong. The arguments are a message and a hint.
    """
    match = _CALL.fullmatch(text) if len(text) <= _LONGEST else None
    row = None if match is None else _ROWS.get(_PREFIX.sub("", match[1], count=1))
    if match is None or row is None:
        return None
    options = {} if match[2] is None else _options(f"f{match[2]}", row)
    output = options.pop("output", None)
    if output is not None and not isinstance(output, str):
        raise ValueError("output must be a string", "write `output='logits'`")
    return NamedLoss(row, tuple(options.items()), output)


def _options(text: str, row: LossRow) -> dict[str, Any]:
    try:
        call = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"the arguments of {row.name} are not valid Python", _CALL_HINT) from None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        raise ValueError(f"the arguments of {row.name} must have names", _CALL_HINT)
    options: dict[str, Any] = {}
    for keyword in call.keywords:
        name = keyword.arg or "**"
        if name not in {*row.options, "output"}:
            guess = nearest(name, row.options)
            listed = f"choose from {', '.join((*row.options, 'output'))}"
            raise ValueError(unknown(f"argument of {row.name}", name), try_instead(guess, listed))
        if name in options:
            raise ValueError(given_twice(name), "remove one of them")
        options[name] = _value(keyword.value, name)
    return options


def _value(node: ast.expr, name: str) -> Any:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        value = ...
    if not _is_plain(value):
        raise ValueError(f"{name} must be a number, a string or a list of numbers", _CALL_HINT)
    return value


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_plain(item) for item in value)
    return isinstance(value, str | bool | int | float)


def is_function(loss: str) -> bool:
    """Return whether a loss is the user's own code: a function, or the model's training_step."""
    if loss == TRAINING_STEP:
        return True
    return not (loss in OWN_LOSSES or loss.startswith("output:") or named_loss(loss) is not None)


def named_loss(loss: str) -> NamedLoss | None:
    """Return the loss of torch.nn that a checked string names; None if it names none."""
    try:
        return parse_named_loss(loss)
    except ValueError:
        return None


def nearest_loss(text: str) -> str | None:
    """Return the loss whose name is most similar."""
    names = [*OWN_LOSSES, *_ROWS]
    name = text.partition("(")[0].strip()
    return nearest(name, names) or nearest(name.lower(), names)
