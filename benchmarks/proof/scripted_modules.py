"""The modules of torch.nn with arguments and inputs, for the comparison of scripted modules."""

from __future__ import annotations

import importlib
import pkgutil

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

_X1, _X2, _X3 = (2, 4, 8), (2, 4, 8, 8), (2, 4, 4, 4, 4)
_TOKENS = ("int", 5, (2, 6))


def _of_dimensions(name, arguments, *shapes, start=1):
    """Return the cases of the classes of a name with 1d, 2d, 3d."""
    return {
        f"{name}{size}d": (arguments(size) if callable(arguments) else arguments, shape)
        for size, shape in enumerate(shapes, start)
    }


_ELEMENTWISE = """
CELU ELU GELU Hardshrink Hardsigmoid Hardswish Hardtanh Identity LeakyReLU LogSigmoid Mish RReLU
ReLU ReLU6 SELU SiLU Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink Flatten PReLU Dropout
AlphaDropout FeatureAlphaDropout GLU
"""

# Class → (arguments, inputs...): a shape is a tensor of normal numbers, ("int", n, shape) one of
# integers below n, ("positive", shape) one of positive numbers; any other value is itself.
_SHAPED = {
    **dict.fromkeys(_ELEMENTWISE.split(), ("", _X1)),
    **dict.fromkeys("LogSoftmax Softmax Softmin".split(), ("1", _X1)),
    "Threshold": ("0.1, 20.0", _X1),
    "Softmax2d": ("", _X2),
    "Unflatten": ("1, (2, 2)", _X1),
    **_of_dimensions("Conv", "4, 6, 3, padding=1", _X1, _X2, _X3),
    **_of_dimensions("ConvTranspose", "4, 6, 3", _X1, _X2, _X3),
    **_of_dimensions("LazyConv", "6, 3", _X1, _X2, _X3),
    **_of_dimensions("LazyConvTranspose", "6, 3", _X1, _X2, _X3),
    **_of_dimensions("BatchNorm", "4", _X1, _X2, _X3),
    **_of_dimensions("LazyBatchNorm", "", _X1, _X2, _X3),
    **_of_dimensions("InstanceNorm", "4, affine=True", _X1, _X2, _X3),
    **_of_dimensions("LazyInstanceNorm", "affine=True", _X1, _X2, _X3),
    **_of_dimensions("Dropout", "", _X1, _X2, _X3),
    **_of_dimensions("MaxPool", "2", _X1, _X2, _X3),
    **_of_dimensions("AvgPool", "2", _X1, _X2, _X3),
    **_of_dimensions("LPPool", "2, 2", _X1, _X2, _X3),
    **_of_dimensions("AdaptiveAvgPool", "2", _X1, _X2, _X3),
    **_of_dimensions("AdaptiveMaxPool", "2", _X1, _X2, _X3),
    **_of_dimensions("FractionalMaxPool", "2, output_size=2", _X2, _X3, start=2),
    **_of_dimensions("ReflectionPad", "1", _X1, _X2, _X3),
    **_of_dimensions("ReplicationPad", "1", _X1, _X2, _X3),
    **_of_dimensions("ZeroPad", "1", _X1, _X2, _X3),
    **_of_dimensions("CircularPad", "1", _X1, _X2, _X3),
    **_of_dimensions("ConstantPad", "1, 0.5", _X1, _X2, _X3),
    "MaxUnpool1d": ("2", (1, 1, 2), torch.tensor([[[1, 3]]])),
    "MaxUnpool2d": ("2", (1, 1, 1, 2), torch.tensor([[[[1, 3]]]])),
    "MaxUnpool3d": ("2", (1, 1, 1, 1, 2), torch.tensor([[[[[1, 3]]]]])),
    "SyncBatchNorm": ("4", _X2),
    "GroupNorm": ("2, 4", _X1),
    "LayerNorm": ("8", _X1),
    "RMSNorm": ("8", _X1),
    "LocalResponseNorm": ("2", _X2),
    "CrossMapLRN2d": ("2", _X2),
    "Linear": ("8, 3", _X1),
    "LazyLinear": ("3", _X1),
    "Bilinear": ("8, 8, 3", (2, 8), (2, 8)),
    "NonDynamicallyQuantizableLinear": ("8, 3", _X1),
    "Embedding": ("5, 3", _TOKENS),
    "EmbeddingBag": ("5, 3", _TOKENS),
    "PixelShuffle": ("2", _X2),
    "PixelUnshuffle": ("2", _X2),
    "ChannelShuffle": ("2", _X2),
    "Upsample": ("scale_factor=2.0", _X2),
    "UpsamplingNearest2d": ("scale_factor=2.0", _X2),
    "UpsamplingBilinear2d": ("scale_factor=2.0", _X2),
    "Fold": ("(4, 4), 2", (2, 8, 9)),
    "Unfold": ("2", _X2),
    "CosineSimilarity": ("", (2, 8), (2, 8)),
    "PairwiseDistance": ("", (2, 8), (2, 8)),
    "RNN": ("8, 5", _X1),
    "GRU": ("8, 5, num_layers=2, bidirectional=True", _X1),
    "LSTM": ("8, 5, dropout=0.5, num_layers=2", _X1),
    "RNNCell": ("8, 5", (2, 8)),
    "GRUCell": ("8, 5", (2, 8)),
    "LSTMCell": ("8, 5", (2, 8)),
    "MultiheadAttention": ("8, 2", _X1, _X1, _X1),
    "TransformerEncoderLayer": ("8, 2, 16", _X1),
    "TransformerDecoderLayer": ("8, 2, 16", _X1, _X1),
    "TransformerEncoder": ("nn.TransformerEncoderLayer(8, 2, 16), 2", _X1),
    "TransformerDecoder": ("nn.TransformerDecoderLayer(8, 2, 16), 2", _X1, _X1),
    "Transformer": ("8, 2, 1, 1, 16", _X1, _X1),
    "AdaptiveLogSoftmaxWithLoss": ("8, 9, [3, 6]", (4, 8), ("int", 9, (4,))),
    "Sequential": ("nn.Linear(8, 3), nn.Tanh()", _X1),
    # losses
    **dict.fromkeys("L1Loss MSELoss SmoothL1Loss HuberLoss".split(), ("", (3, 4), (3, 4))),
    **dict.fromkeys(
        "CrossEntropyLoss NLLLoss MultiMarginLoss".split(), ("", (3, 4), ("int", 4, (3,)))
    ),
    "NLLLoss2d": ("", (2, 4, 3, 3), ("int", 4, (2, 3, 3))),
    "LinearCrossEntropyLoss": ("8, 4", (3, 8), ("int", 4, (3,))),
    "PoissonNLLLoss": ("", (3, 4), ("positive", (3, 4))),
    "GaussianNLLLoss": ("", (3, 4), (3, 4), ("positive", (3, 4))),
    "KLDivLoss": ("reduction='batchmean'", (3, 4), ("positive", (3, 4))),
    "BCELoss": ("", ("positive", (3, 4)), ("positive", (3, 4))),
    "BCEWithLogitsLoss": ("", (3, 4), ("positive", (3, 4))),
    "HingeEmbeddingLoss": ("", (3, 4), torch.tensor([[1.0], [-1.0], [1.0]])),
    "MultiLabelMarginLoss": ("", (3, 4), torch.tensor([[0, 1, -1, -1]] * 3)),
    "MultiLabelSoftMarginLoss": ("", (3, 4), ("positive", (3, 4))),
    "SoftMarginLoss": ("", (3, 4), torch.ones(3, 4)),
    "CosineEmbeddingLoss": ("", (3, 4), (3, 4), torch.tensor([1.0, -1.0, 1.0])),
    "MarginRankingLoss": ("", (3,), (3,), torch.tensor([1.0, -1.0, 1.0])),
    "TripletMarginLoss": ("", (3, 4), (3, 4), (3, 4)),
    "TripletMarginWithDistanceLoss": ("", (3, 4), (3, 4), (3, 4)),
    "CTCLoss": ("", (6, 2, 5), torch.tensor([[1, 2], [3, 4]]), torch.tensor([6, 6]),
                torch.tensor([2, 2])),
}  # fmt: skip

# Other arguments or inputs that take other paths through the code.
_MORE = {
    "MultiheadAttention, batch first": ("8, 2, batch_first=True", _X1, _X1, _X1),
    "MultiheadAttention, dropout, bias_kv": (
        "8, 2, dropout=0.5, add_bias_kv=True, add_zero_attn=True", _X1, _X1, _X1,
    ),
    "MultiheadAttention, other sizes": ("8, 2, kdim=4, vdim=6", (3, 2, 8), (5, 2, 4), (5, 2, 6)),
    "MultiheadAttention, masks": (
        "8, 2", (3, 2, 8), (3, 2, 8), (3, 2, 8), torch.tensor([[False, False, True]] * 2), True,
        torch.triu(torch.ones(3, 3), 1).bool(),
    ),
    "TransformerEncoderLayer, norm first": (
        "8, 2, 16, norm_first=True, activation='gelu', batch_first=True", _X1,
    ),
    "TransformerEncoder, masks": (
        "nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, norm=nn.LayerNorm(8)",
        (2, 3, 8), torch.triu(torch.ones(3, 3), 1).bool(),
        torch.tensor([[False, False, True]] * 2),
    ),
    "TransformerDecoder, masks": (
        "nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), 2, norm=nn.LayerNorm(8)",
        (2, 3, 8), (2, 4, 8), torch.triu(torch.ones(3, 3), 1).bool(), None,
        torch.tensor([[False, False, True]] * 2),
    ),
    "LSTM, state": ("8, 5", (3, 2, 8), (torch.ones(1, 2, 5), torch.ones(1, 2, 5))),
    "LSTM, projection": ("8, 5, proj_size=3, batch_first=True", _X1),
    "GRU, state": ("8, 5", (3, 2, 8), torch.ones(1, 2, 5)),
    "LSTMCell, state": ("8, 5", (2, 8), (torch.ones(2, 5), torch.ones(2, 5))),
    "MaxPool2d, indices": ("2, return_indices=True", _X2),
    "EmbeddingBag, offsets": ("5, 3, mode='sum'", ("int", 5, (6,)), torch.tensor([0, 2])),
    "Embedding, sparse": ("5, 3, sparse=True", _TOKENS),
    "BatchNorm2d, no statistics": ("4, track_running_stats=False", _X2),
    "Conv2d, circular": ("4, 6, 3, padding=1, padding_mode='circular'", _X2),
    "ReLU, in place": ("inplace=True", _X1),
    "Dropout, in place": ("0.3, True", _X1),
    "ConvTranspose2d, output size": ("4, 6, 3, stride=2", _X2, [18, 18]),
    "LSTM, packed": ("8, 5", "packed"),
    "GRU, packed": ("8, 5", "packed"),
}  # fmt: skip

# Without a forward of their own, or abstract.
WITHOUT_FORWARD = frozenset({"Container", "ModuleList", "ModuleDict", "ParameterList",
                             "ParameterDict", "Module", "RNNBase", "RNNCellBase"})  # fmt: skip

MODULES = {**_SHAPED, **_MORE}


def classes():
    """Return the public classes of torch.nn.modules, by name."""
    found = {}
    for info in pkgutil.iter_modules(nn.modules.__path__):
        module = importlib.import_module(f"torch.nn.modules.{info.name}")
        found |= {
            name: kind
            for name, kind in vars(module).items()
            if isinstance(kind, type) and issubclass(kind, nn.Module)
            and kind.__module__ == module.__name__ and not name.startswith("_")
        }  # fmt: skip
    return found


def missing():
    """Return the classes of this torch without a case."""
    return sorted(classes().keys() - MODULES.keys() - WITHOUT_FORWARD)


def make(name):
    """Return the module of a case and its inputs."""
    arguments, *inputs = MODULES[name]
    kind = classes().get(name.partition(",")[0])
    if kind is None:
        return None
    torch.manual_seed(0)
    module = eval(f"kind({arguments})", {"kind": kind, "nn": nn})  # of this file
    values = tuple(_value(item) for item in inputs)
    if any(nn.parameter.is_lazy(parameter) for parameter in module.parameters()):
        module(*values)
    return module, values


def _value(item):
    match item:
        case "packed":
            return pack_padded_sequence(torch.randn(3, 2, 8), torch.tensor([3, 2]))
        case ("int", int(high), shape):
            return torch.randint(0, high, shape)
        case ("positive", shape):
            return torch.rand(shape) * 0.8 + 0.1
        case tuple() if all(type(size) is int for size in item):
            return torch.randn(item)
    return item
