"""Architectures for images, and their unusual layers."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ._base import Shelf, call, ids, t

ENTRIES = Shelf()


@ENTRIES.add(
    "vision_odd_convolutions",
    "1d, 2d, 3d, transposed with output_size, grouped, dilated, circular, unbatched",
    lambda: call(t(1, 4, 4, 4, 4)),
)
class OddConvolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c3 = nn.Conv3d(4, 2, 3, padding="same", groups=2)
        self.c2 = nn.Conv2d(8, 4, (3, 1), padding=(1, 0), padding_mode="circular")
        self.t2 = nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1)
        self.c1 = nn.Conv1d(2, 2, 3, dilation=2, bias=False)
        self.t1 = nn.ConvTranspose1d(2, 3, 2, groups=1, dilation=3)
        self.t3 = nn.ConvTranspose3d(2, 1, 2)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        a = self.c3(x)
        b = self.t2(self.c2(a.flatten(1, 2)), output_size=(8, 8))
        return b, self.t1(self.c1(b[0].flatten(1))), self.t3(a)


@ENTRIES.add(
    "vision_pools",
    "adaptive pools, pools with indices and their inverse, shuffles, fold, upsampling",
    lambda: call(t(1, 4, 8, 8)),
)
class Pools(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pool = nn.MaxPool2d(2, return_indices=True)
        self.unpool = nn.MaxUnpool2d(2)
        self.adaptive = nn.AdaptiveMaxPool2d((None, 3), return_indices=True)
        self.shuffle = nn.Sequential(nn.PixelUnshuffle(2), nn.ChannelShuffle(4), nn.PixelShuffle(4))
        self.up = nn.Upsample(scale_factor=1.5, mode="bicubic")
        self.fold = nn.Fold((8, 8), 2, stride=2)
        self.lp = nn.LPPool2d(2, 3, ceil_mode=True)

    def forward(self, x: Tensor) -> list[Any]:
        y, where = self.pool(x)
        folded = self.fold(F.unfold(x, 2, stride=2))
        rest = [self.shuffle(x), self.up(y), folded, self.lp(x)]
        return [self.unpool(y, where, output_size=x.shape), self.adaptive(x), *rest]


@ENTRIES.add(
    "vision_spatial_transformer",
    "an affine grid, made from the image, that samples the image",
    lambda: call(t(2, 1, 6, 6)),
)
class SpatialTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.localise = nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4, 6))
        nn.init.zeros_(self.localise[2].weight)

    def forward(self, x: Tensor) -> Tensor:
        theta = self.localise(x).view(-1, 2, 3)
        return F.grid_sample(x, F.affine_grid(theta, [2, 1, 3, 3], False), align_corners=False)


@ENTRIES.add(
    "vision_squeeze_excite",
    "squeeze and excite, with a gate that multiplies its own input in place",
    lambda: call(t(1, 4, 3, 3)),
)
class SqueezeExcite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(2, 4)
        layers = [nn.AdaptiveAvgPool2d(1), nn.Conv2d(4, 1, 1), nn.Conv2d(1, 4, 1)]
        self.gate = nn.Sequential(*layers, nn.Hardsigmoid(inplace=True))

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(x)
        return x.mul_(self.gate(x).detach())


@ENTRIES.add(
    "vision_capsules",
    "capsules with routing by agreement: three passes without any module",
    lambda: call(t(1, 1, 6, 6)),
)
class Capsules(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.primary = nn.Conv2d(1, 4, 3, stride=3)
        self.route = nn.Parameter(torch.ones(8, 3, 2, 2))

    def forward(self, x: Tensor) -> Tensor:
        u = torch.einsum("bnd,ncde->bnce", self.primary(x).reshape(len(x), 8, 2), self.route)
        b = u.new_zeros(u.shape[:3])
        for _ in range(3):
            s = (b.softmax(2)[..., None] * u).sum(1)
            v = s * s.norm(dim=-1, keepdim=True)
            b = b + (u * v[:, None]).sum(-1)
        return v.norm(dim=-1)


@ENTRIES.add(
    "vision_detection",
    "a list of images of different sizes in, a list of dicts, one of them empty, out",
    lambda: call([t(3, 6, 4), t(3, 4, 8)], [{"boxes": t(0, 4)}, {"boxes": t(2, 4)}]),
)
class Detection(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.ModuleDict(
            {"stem": nn.Conv2d(3, 2, 3, padding=1), "p2": nn.MaxPool2d(2)}
        )
        self.head = nn.Linear(2, 5)

    def forward(self, images: list[Tensor], targets: Any = None) -> list[dict[str, Any]]:
        h, w = (max(i.shape[d] for i in images) for d in (1, 2))
        x = torch.stack([F.pad(i, (0, w - i.shape[2], 0, h - i.shape[1])) for i in images])
        x = self.backbone["p2"](self.backbone["stem"](x))
        rows = self.head(x.flatten(2).mT)
        return [
            {"boxes": row[:n, :4], "scores": row[:n, 4], "labels": ids(n), "size": i.shape[1:]}
            for n, (row, i) in enumerate(zip(rows, images, strict=True))
        ]


@ENTRIES.add(
    "vision_diffusion_loop",
    "a denoising loop: the time step is an int, a 0-d tensor or a batch of them in turn",
    lambda: call(t(2, 1, 4, 4), steps=3),
)
class DiffusionLoop(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.unet = UNet()

    def forward(self, x: Tensor, steps: int) -> Tensor:
        for i in reversed(range(steps)):
            when = (i, torch.tensor(i), torch.full((len(x),), i))[i % 3]
            x = x - 0.1 * self.unet(x, when, return_dict=False)[0]
        return x


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(2, 4), nn.SiLU())
        self.down = nn.Conv2d(1, 4, 3, 2, 1)
        self.up = nn.ConvTranspose2d(4, 1, 2, 2)

    def forward(self, x: Tensor, when: Any, context: Any = None, return_dict: bool = True) -> Any:
        when = torch.as_tensor(when).reshape(-1, 1).expand(len(x), 1).float()
        emb = self.time(torch.cat([when.sin(), when.cos()], 1))
        y = self.up(self.down(x) + emb[..., None, None])
        return {"sample": y} if return_dict else (y,)


@ENTRIES.add(
    "vision_hypernetwork",
    "a network whose output is another convolution's weight",
    lambda: call(t(1, 2, 5, 5), t(3)),
)
class HyperNetwork(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hyper = nn.Linear(3, 3 * 2 * 9 + 3)

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        weight, bias = self.hyper(z).split([54, 3])
        return F.conv2d(x, weight.view(3, 2, 3, 3), bias)


class FakeQuant(nn.Module):
    scale: Tensor
    zero: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.ones(1) / 8)
        self.register_buffer("zero", torch.zeros(1, dtype=torch.int32))

    def forward(self, x: Tensor) -> Tensor:
        return torch.fake_quantize_per_tensor_affine(x, self.scale, self.zero, -128, 127)


class FakeQuantLinear(nn.Linear):
    """A Linear with children, which its forward calls on its own weight."""

    def __init__(self) -> None:
        super().__init__(4, 4)
        self.weight_quant = FakeQuant()

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight_quant(self.weight), self.bias)


@ENTRIES.add(
    "vision_fake_quant",
    "quantisation stubs, and a Linear subclass with a child that quantises its weight",
    lambda: call(t(2, 4)),
)
def fake_quant() -> nn.Module:
    return nn.Sequential(FakeQuant(), FakeQuantLinear(), nn.ReLU6(), FakeQuant())
