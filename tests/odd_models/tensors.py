"""Models that use unusual tensors."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor, nn

from ._base import Shelf, call, ids, t

ENTRIES = Shelf()


@ENTRIES.add(
    "tensor_dtypes",
    "leaves of many dtypes: bool, all ints, bfloat16, float16, float8",
    lambda: call(ids(2, 3)),
)
class Dtypes(nn.Module):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        names = [f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)]
        names += ["bool", "float16", "bfloat16", "float64", "float8_e4m3fn", "float8_e5m2"]
        names += ["float8_e4m3fnuz", "float8_e5m2fnuz"]
        names += ["float8_e8m0fnu"] * hasattr(torch, "float8_e8m0fnu")  # torch 2.7
        return {name: x.to(torch.float32).to(getattr(torch, name)) for name in names}


@ENTRIES.add(
    "tensor_low_precision",
    "a bfloat16 layer, a float64 layer and an integer one in turn",
    lambda: call(t(2, 4)),
)
class LowPrecision(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.low = nn.Linear(4, 4, dtype=torch.bfloat16)
        self.high = nn.Linear(4, 4, dtype=torch.float64)
        self.emb = nn.Embedding(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        y = self.high(self.low(x.bfloat16()).double())
        return self.emb(y.abs().argmax(-1))


@ENTRIES.add(
    "tensor_autocast", "runs under autocast: bfloat16 out of float32", lambda: call(t(2, 4))
)
class Autocast(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.LayerNorm(4)

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.b(self.a(x))


@ENTRIES.add(
    "tensor_complex",
    "complex parameters, complex outputs, conj and neg bits set",
    lambda: call(t(2, 4, dtype=torch.complex64)),
)
class Complex(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4, dtype=torch.complex64)
        self.phase = nn.Parameter(torch.ones(4, dtype=torch.complex128))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        y = self.fc(x) * self.phase.to(torch.complex64)
        return y, y.conj(), y.conj().imag, y.real, torch.view_as_real(y)


@ENTRIES.add(
    "tensor_sparse",
    "sparse COO input to a child, sparse COO and CSR outputs",
    lambda: call(torch.eye(4).to_sparse()),
)
class Sparse(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.same = nn.Identity()
        self.weight = nn.Parameter(torch.ones(4, 3))

    def forward(self, adj: Tensor) -> tuple[Tensor, ...]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            csr = adj.to_dense().to_sparse_csr()
        adj = self.same(adj)
        return torch.sparse.mm(adj, self.weight), adj, torch.stack([adj, adj]), csr


@ENTRIES.add("tensor_zero_elements", "batches of none, features of none", lambda: call(t(0, 4)))
class ZeroElements(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.none = nn.Linear(3, 0)
            self.back = nn.Linear(0, 2)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        y = self.none(self.fc(x))
        return y, self.back(y), self.back(self.none(x.new_ones(2, 3)))


@ENTRIES.add("tensor_zero_dim", "0-d tensors in and out of every child", lambda: call(t()))
class ZeroDim(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(()))
        self.act = nn.Softplus()

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        y = self.act(x * self.gain)
        return y, y.bool(), y.long()


@ENTRIES.add(
    "tensor_odd_layouts",
    "channels last, 12 dimensions, expanded to 2**40 elements over one, stride 0",
    lambda: call(t(1, 3, 4, 4)),
)
class OddLayouts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.same = nn.Identity()

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        last = x.contiguous(memory_format=torch.channels_last)
        many = x[0, 0, 0, :2].reshape((1,) * 11 + (2,))
        huge = x[0, 0, 0, 0].expand(2**20, 2**20)
        return self.same(last), self.same(many), self.same(huge)


class Tagged(Tensor):
    """A tensor subclass with an attribute, kept by every operation."""

    tag = "tagged"


@ENTRIES.add(
    "tensor_subclass",
    "outputs of a tensor subclass, which has an attribute",
    lambda: call(t(2, 4)),
    fake=False,
)
class SubclassOutput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> tuple[Any, ...]:
        y = self.fc(x.as_subclass(Tagged))
        return y, y + 1, y.shape


class Wary(Tensor):
    """A tensor subclass that refuses most functions, as a secret share would."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.__repr__ or getattr(func, "__name__", "") in ("clone", "detach", "numel"):
            raise RuntimeError("this tensor is secret")
        return super().__torch_function__(func, types, args, kwargs or {})


@ENTRIES.add(
    "tensor_wary_subclass",
    "a tensor subclass whose repr, clone, detach and numel raise",
    lambda: call(t(2, 4)),
    fake=False,
)
class WaryOutput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.act = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.act(x.as_subclass(Wary))


@ENTRIES.add(
    "tensor_jagged",
    "a jagged nested tensor made from a list, through a linear layer",
    lambda: call([t(3, 4), t(1, 4), t(2, 4)]),
    fake=False,
)
class Jagged(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, xs: list[Tensor]) -> tuple[Tensor, ...]:
        x = torch.nested.as_nested_tensor(xs, layout=torch.jagged)
        y = self.fc(x)
        return y, y.values(), y.offsets()


@ENTRIES.add(
    "tensor_nested_strided",
    "a strided nested tensor, whose .shape raises",
    lambda: call([t(3, 4), t(1, 4)]),
    fake=False,
)
class NestedStrided(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, xs: list[Tensor]) -> Tensor:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = torch.nested.as_nested_tensor(xs, layout=torch.strided)
        return self.fc(x)


@ENTRIES.add(
    "tensor_numpy",
    "NumPy arrays and scalars in and out, and between children",
    lambda: call(t(2, 4).numpy(), t(2).double().numpy()[0]),
    fake=False,
)
class Numpy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 2)
        self.to_array = ToArray()

    def forward(self, x: Any, scale: Any) -> tuple[Any, ...]:
        array = self.to_array(self.fc(torch.from_numpy(x)))
        return array, array.astype("O"), array[0, 0] * scale, {"labels": array.astype(str)}


class ToArray(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x.detach().numpy()


@ENTRIES.add(
    "tensor_inference_and_meta",
    "an inference tensor, a meta tensor and a tensor with NaN and infinity as outputs",
    lambda: call(t(2, 4)),
)
class InferenceAndMeta(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        with torch.inference_mode():
            y = self.fc(x)
        return y, torch.empty(2, 3, device="meta"), x / 0, (-x).sqrt()
