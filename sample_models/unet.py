"""A U-Net of depth two: each level of the decoder gets the same level of the encoder."""

import torch
from torch import Tensor, nn


class DoubleConv(nn.Sequential):
    """Two 3x3 convolutions that keep the size, each with BatchNorm and ReLU."""

    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__(
            nn.Conv2d(channels_in, channels_out, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels_out),
            nn.ReLU(),
            nn.Conv2d(channels_out, channels_out, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels_out),
            nn.ReLU(),
        )


class Up(nn.Module):
    """Double the size by a transposed convolution, then merge with a skip connection."""

    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__()
        self.grow = nn.ConvTranspose2d(channels_in, channels_out, 2, stride=2)
        self.conv = DoubleConv(2 * channels_out, channels_out)

    def forward(self, x: Tensor, skip: Tensor) -> Tensor:
        """Map x (B, C_in, H, W) and skip (B, C_out, 2H, 2W) to (B, C_out, 2H, 2W)."""
        return self.conv(torch.cat((skip, self.grow(x)), dim=1))


class UNet(nn.Module):
    """Segment images: a score for every class at every pixel; sides must be divisible by four."""

    def __init__(self, channels: int = 1, classes: int = 3) -> None:
        super().__init__()
        self.down = nn.ModuleList([DoubleConv(channels, 8), DoubleConv(8, 16)])
        self.pool = nn.MaxPool2d(2)
        self.bottom = DoubleConv(16, 32)
        self.up = nn.ModuleList([Up(32, 16), Up(16, 8)])
        self.head = nn.Conv2d(8, classes, 1)

    def forward(self, images: Tensor) -> Tensor:
        """Map images (B, channels, H, W) to scores (B, classes, H, W)."""
        x = images
        skips = []
        for down in self.down:
            x = down(x)
            skips.append(x)
            x = self.pool(x)
        x = self.bottom(x)
        for up, skip in zip(self.up, reversed(skips), strict=True):
            x = up(x, skip=skip)
        return self.head(x)


def example_inputs() -> tuple[Tensor]:
    """Return two grey images of 16x16 pixels."""
    return (torch.randn(2, 1, 16, 16),)


# Parameters: DoubleConv(i, o) has 9*i*o, then o+o of BatchNorm, then 9*o*o, then o+o again.
#   down.0        72 + 16 + 576 + 16                                          680
#   down.1        1152 + 32 + 2304 + 32                                      3520
#   bottom        4608 + 64 + 9216 + 64                                     13952
#   up.0          grow 32*16*2*2 + 16 = 2064; conv(32, 16) 4608 + 32 + 2304 + 32 = 6976      9040
#   up.1          grow 16*8*2*2 + 8 = 520; conv(16, 8) 1152 + 16 + 576 + 16 = 1760           2280
#   head          8*3 + 3                                                      27
# Buffers: five DoubleConvs of two BatchNorms of three.
# Sizes: pooling halves 16 to 8 to 4; grow gives (n - 1)*2 + 2 = 2n, so 8 and 16 again. Joining a
# skip doubles the channels: 16 + 16 = 32, 8 + 8 = 16.
EXPECTED = {
    "type": "UNet",
    "parameters": 29499,  # 680 + 3520 + 13952 + 9040 + 2280 + 27
    "trainable_parameters": 29499,
    "buffers": 30,  # 5 * 2 * 3
    "calls": [
        ("", "UNet", 0, 0, [("[0]", (2, 1, 16, 16))], [("", (2, 3, 16, 16))]),
        ("down.0", "DoubleConv", 0, 0, [("[0]", (2, 1, 16, 16))], [("", (2, 8, 16, 16))]),
        ("down.0.0", "Conv2d", 0, 72, [("[0]", (2, 1, 16, 16))], [("", (2, 8, 16, 16))]),
        ("down.0.1", "BatchNorm2d", 0, 16, [("[0]", (2, 8, 16, 16))], [("", (2, 8, 16, 16))]),
        ("down.0.2", "ReLU", 0, 0, [("[0]", (2, 8, 16, 16))], [("", (2, 8, 16, 16))]),
        ("down.0.3", "Conv2d", 0, 576, [("[0]", (2, 8, 16, 16))], [("", (2, 8, 16, 16))]),
        ("down.0.4", "BatchNorm2d", 0, 16, [("[0]", (2, 8, 16, 16))], [("", (2, 8, 16, 16))]),
        ("down.0.5", "ReLU", 0, 0, [("[0]", (2, 8, 16, 16))], [("", (2, 8, 16, 16))]),
        ("pool", "MaxPool2d", 0, 0, [("[0]", (2, 8, 16, 16))], [("", (2, 8, 8, 8))]),
        ("down.1", "DoubleConv", 0, 0, [("[0]", (2, 8, 8, 8))], [("", (2, 16, 8, 8))]),
        ("down.1.0", "Conv2d", 0, 1152, [("[0]", (2, 8, 8, 8))], [("", (2, 16, 8, 8))]),
        ("down.1.1", "BatchNorm2d", 0, 32, [("[0]", (2, 16, 8, 8))], [("", (2, 16, 8, 8))]),
        ("down.1.2", "ReLU", 0, 0, [("[0]", (2, 16, 8, 8))], [("", (2, 16, 8, 8))]),
        ("down.1.3", "Conv2d", 0, 2304, [("[0]", (2, 16, 8, 8))], [("", (2, 16, 8, 8))]),
        ("down.1.4", "BatchNorm2d", 0, 32, [("[0]", (2, 16, 8, 8))], [("", (2, 16, 8, 8))]),
        ("down.1.5", "ReLU", 0, 0, [("[0]", (2, 16, 8, 8))], [("", (2, 16, 8, 8))]),
        ("pool", "MaxPool2d", 1, 0, [("[0]", (2, 16, 8, 8))], [("", (2, 16, 4, 4))]),
        ("bottom", "DoubleConv", 0, 0, [("[0]", (2, 16, 4, 4))], [("", (2, 32, 4, 4))]),
        ("bottom.0", "Conv2d", 0, 4608, [("[0]", (2, 16, 4, 4))], [("", (2, 32, 4, 4))]),
        ("bottom.1", "BatchNorm2d", 0, 64, [("[0]", (2, 32, 4, 4))], [("", (2, 32, 4, 4))]),
        ("bottom.2", "ReLU", 0, 0, [("[0]", (2, 32, 4, 4))], [("", (2, 32, 4, 4))]),
        ("bottom.3", "Conv2d", 0, 9216, [("[0]", (2, 32, 4, 4))], [("", (2, 32, 4, 4))]),
        ("bottom.4", "BatchNorm2d", 0, 64, [("[0]", (2, 32, 4, 4))], [("", (2, 32, 4, 4))]),
        ("bottom.5", "ReLU", 0, 0, [("[0]", (2, 32, 4, 4))], [("", (2, 32, 4, 4))]),
        (
            "up.0",
            "Up",
            0,
            0,
            [("[0]", (2, 32, 4, 4)), (".skip", (2, 16, 8, 8))],
            [("", (2, 16, 8, 8))],
        ),
        ("up.0.grow", "ConvTranspose2d", 0, 2064, [("[0]", (2, 32, 4, 4))], [("", (2, 16, 8, 8))]),
        ("up.0.conv", "DoubleConv", 0, 0, [("[0]", (2, 32, 8, 8))], [("", (2, 16, 8, 8))]),
        ("up.0.conv.0", "Conv2d", 0, 4608, [("[0]", (2, 32, 8, 8))], [("", (2, 16, 8, 8))]),
        ("up.0.conv.1", "BatchNorm2d", 0, 32, [("[0]", (2, 16, 8, 8))], [("", (2, 16, 8, 8))]),
        ("up.0.conv.2", "ReLU", 0, 0, [("[0]", (2, 16, 8, 8))], [("", (2, 16, 8, 8))]),
        ("up.0.conv.3", "Conv2d", 0, 2304, [("[0]", (2, 16, 8, 8))], [("", (2, 16, 8, 8))]),
        ("up.0.conv.4", "BatchNorm2d", 0, 32, [("[0]", (2, 16, 8, 8))], [("", (2, 16, 8, 8))]),
        ("up.0.conv.5", "ReLU", 0, 0, [("[0]", (2, 16, 8, 8))], [("", (2, 16, 8, 8))]),
        (
            "up.1",
            "Up",
            0,
            0,
            [("[0]", (2, 16, 8, 8)), (".skip", (2, 8, 16, 16))],
            [("", (2, 8, 16, 16))],
        ),
        ("up.1.grow", "ConvTranspose2d", 0, 520, [("[0]", (2, 16, 8, 8))], [("", (2, 8, 16, 16))]),
        ("up.1.conv", "DoubleConv", 0, 0, [("[0]", (2, 16, 16, 16))], [("", (2, 8, 16, 16))]),
        ("up.1.conv.0", "Conv2d", 0, 1152, [("[0]", (2, 16, 16, 16))], [("", (2, 8, 16, 16))]),
        ("up.1.conv.1", "BatchNorm2d", 0, 16, [("[0]", (2, 8, 16, 16))], [("", (2, 8, 16, 16))]),
        ("up.1.conv.2", "ReLU", 0, 0, [("[0]", (2, 8, 16, 16))], [("", (2, 8, 16, 16))]),
        ("up.1.conv.3", "Conv2d", 0, 576, [("[0]", (2, 8, 16, 16))], [("", (2, 8, 16, 16))]),
        ("up.1.conv.4", "BatchNorm2d", 0, 16, [("[0]", (2, 8, 16, 16))], [("", (2, 8, 16, 16))]),
        ("up.1.conv.5", "ReLU", 0, 0, [("[0]", (2, 8, 16, 16))], [("", (2, 8, 16, 16))]),
        ("head", "Conv2d", 0, 27, [("[0]", (2, 8, 16, 16))], [("", (2, 3, 16, 16))]),
    ],
    "uncalled": [],
    "shared": {},
}
