"""Files of weights written in each way that users have, and the tensors that torch has of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import save_file

State = dict[str, torch.Tensor]
_FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
_FLOAT8 = (
    torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz,
    torch.float8_e8m0fnu,
)  # fmt: skip
_INTEGERS = (
    torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.uint16, torch.uint32,
    torch.uint64,
)  # fmt: skip


def _normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def floats() -> State:
    return {str(dtype)[6:]: _normal(7, 33).to(dtype) for dtype in _FLOATS}


def float8() -> State:
    """Every one of the 256 codes."""
    codes = torch.arange(256, dtype=torch.uint8)
    return {str(dtype)[6:]: codes.view(dtype) for dtype in _FLOAT8}


def integers() -> State:
    state = {str(dtype)[6:]: torch.arange(100).to(dtype) for dtype in _INTEGERS}
    return {**state, "bool": _normal(50) > 0}


def complexes() -> State:
    a, b = _normal(9, 4), _normal(9, 4, seed=1)
    odd = torch.complex(torch.tensor([1.0, float("nan")]), torch.tensor([float("inf"), 1.0]))
    return {"c64": torch.complex(a, b), "c128": torch.complex(a.double(), b.double()), "odd": odd}


def odd_shapes() -> State:
    return {
        "scalar": torch.tensor(3.5),
        "empty": torch.empty(0, 5),
        "one": torch.ones(1),
        "long": _normal(600_001),
    }


def not_finite() -> State:
    x = _normal(1000)
    inf, nan = float("inf"), float("nan")
    values = {
        "nan": (nan,),
        "inf": (inf,),
        "below": (-inf,),
        "both": (inf, -inf),
        "all": (nan, inf),
    }
    state = {}
    for name, odd in values.items():
        state[name] = x.clone()
        state[name][: len(odd)] = torch.tensor(odd)
    return {**state, "only_nan": torch.full((3,), nan), "only_inf": torch.full((3,), inf)}


def extremes() -> State:
    return {
        "tiny": torch.full((100,), 1e-200, dtype=torch.float64),
        "huge": torch.tensor([1e200, -1e200, 1.0], dtype=torch.float64),
        "subnormal": torch.full((10,), 1e-40),
        "zeros": torch.zeros(10),
        "offset": _normal(100_000) * 1e-3 + 1000,
    }


def strided() -> State:
    x = _normal(40, 60)
    return {
        "transposed": x.t(),
        "channels_last": _normal(2, 3, 8, 8).to(memory_format=torch.channels_last),
        "slice": x[3:30:3, 5:50:7],
        "column": x[:, 4],
        "expanded": _normal(1, 6).expand(5, 6),
        "windows": torch.arange(10.0).unfold(0, 3, 1),
        "back": torch.arange(12.0).view(3, 4).permute(1, 0),
    }


def shared() -> State:
    x = _normal(10, 10)
    return {"a": x, "b": x, "row": x[2], "alone": _normal(4)}


def quantized() -> State:
    x = _normal(30, 20)
    return {
        "qint8": torch.quantize_per_tensor(x, 0.05, 3, torch.qint8),
        "quint8": torch.quantize_per_tensor(x, 0.1, 128, torch.quint8),
        "qint32": torch.quantize_per_tensor(x, 0.001, 0, torch.qint32),
    }


STATES: dict[str, Callable[[], State]] = {
    function.__name__: function
    for function in (
        floats, float8, integers, complexes, odd_shapes, not_finite, extremes, strided, shared,
        quantized,
    )
}  # fmt: skip


def as_safetensors(state: State, folder: Path) -> Path:
    state.pop("c128", None)  # the library does not write it
    save_file({k: v.contiguous().clone() for k, v in state.items()}, folder / "m.safetensors")
    return folder / "m.safetensors"


def as_zip(state: State, folder: Path) -> Path:
    torch.save(state, folder / "m.pt")
    return folder / "m.pt"


def as_legacy(state: State, folder: Path) -> Path:
    torch.save(state, folder / "m.bin", _use_new_zipfile_serialization=False)
    return folder / "m.bin"


def as_checkpoint(state: State, folder: Path) -> Path:
    parameters = {key: torch.nn.Parameter(value, False) for key, value in state.items()}
    torch.save({"epoch": 3, "state_dict": parameters}, folder / "m.ckpt")
    return folder / "m.ckpt"


WRITERS = {
    function.__name__[3:]: function
    for function in (as_safetensors, as_zip, as_legacy, as_checkpoint)
}
# What a format cannot hold: safetensors has neither these dtypes nor strides, and a quantized
# tensor is not a parameter.
IMPOSSIBLE = {("safetensors", "quantized")}
