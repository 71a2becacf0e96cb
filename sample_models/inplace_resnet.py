"""A small residual network that uses in-place operations wherever possible."""

import torch
from torch import Tensor, nn


class BasicBlock(nn.Module):
    """Two 3x3 convolutions with a shortcut; one ReLU module is used for both activations."""

    def __init__(self, channels_in: int, channels_out: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels_out, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels_out)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(channels_out, channels_out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels_out)
        self.downsample: nn.Sequential | None = None
        if stride != 1 or channels_in != channels_out:
            self.downsample = nn.Sequential(
                nn.Conv2d(channels_in, channels_out, 1, stride=stride, bias=False),
                nn.BatchNorm2d(channels_out),
            )

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, C_in, H, W) to (B, C_out, H / stride, W / stride)."""
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        identity = x if self.downsample is None else self.downsample(x)
        out += identity
        return self.relu(out)


class InplaceResNet(nn.Module):
    """A stem, two stages of one block each, global pooling and a linear classifier."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)
        self.layer1 = nn.Sequential(BasicBlock(8, 8))
        self.layer2 = nn.Sequential(BasicBlock(8, 16, stride=2))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(16, classes)

    def forward(self, images: Tensor) -> Tensor:
        """Map images (B, 3, H, W) to class logits (B, classes)."""
        x = self.relu(self.bn1(self.conv1(images)))
        x = self.layer2(self.layer1(x))
        return self.fc(self.avgpool(x).flatten(1))


def example_inputs() -> tuple[Tensor]:
    """Return two RGB images of 16x16 pixels."""
    return (torch.randn(2, 3, 16, 16),)


# Parameters
#   stem      conv1 3*8*3*3 = 216, bn1 8+8 = 16                                          232
#   layer1    conv1 8*8*9 = 576, bn1 16, conv2 576, bn2 16                              1184
#   layer2    conv1 8*16*9 = 1152, bn1 32, conv2 16*16*9 = 2304, bn2 32,
#             downsample conv 8*16*1 = 128, downsample bn 32                            3680
#   fc        16*10 + 10                                                                 170
# Buffers: six BatchNorms of three (running_mean, running_var, num_batches_tracked).
# Sizes: every stride 2 halves: (16 + 2*1 - 3)//2 + 1 = 8 in the stem, (8 + 2*1 - 3)//2 + 1 = 4
# in layer2.0.conv1, and (8 - 1)//2 + 1 = 4 in its 1x1 downsample convolution.
EXPECTED = {
    "type": "InplaceResNet",
    "parameters": 5266,  # 232 + 1184 + 3680 + 170
    "trainable_parameters": 5266,
    "buffers": 18,  # 6 * 3
    "calls": [
        ("", "InplaceResNet", 0, 0, [("[0]", (2, 3, 16, 16))], [("", (2, 10))]),
        ("conv1", "Conv2d", 0, 216, [("[0]", (2, 3, 16, 16))], [("", (2, 8, 8, 8))]),
        ("bn1", "BatchNorm2d", 0, 16, [("[0]", (2, 8, 8, 8))], [("", (2, 8, 8, 8))]),
        ("relu", "ReLU", 0, 0, [("[0]", (2, 8, 8, 8))], [("", (2, 8, 8, 8))]),
        ("layer1", "Sequential", 0, 0, [("[0]", (2, 8, 8, 8))], [("", (2, 8, 8, 8))]),
        ("layer1.0", "BasicBlock", 0, 0, [("[0]", (2, 8, 8, 8))], [("", (2, 8, 8, 8))]),
        ("layer1.0.conv1", "Conv2d", 0, 576, [("[0]", (2, 8, 8, 8))], [("", (2, 8, 8, 8))]),
        ("layer1.0.bn1", "BatchNorm2d", 0, 16, [("[0]", (2, 8, 8, 8))], [("", (2, 8, 8, 8))]),
        ("layer1.0.relu", "ReLU", 0, 0, [("[0]", (2, 8, 8, 8))], [("", (2, 8, 8, 8))]),
        ("layer1.0.conv2", "Conv2d", 0, 576, [("[0]", (2, 8, 8, 8))], [("", (2, 8, 8, 8))]),
        ("layer1.0.bn2", "BatchNorm2d", 0, 16, [("[0]", (2, 8, 8, 8))], [("", (2, 8, 8, 8))]),
        ("layer1.0.relu", "ReLU", 1, 0, [("[0]", (2, 8, 8, 8))], [("", (2, 8, 8, 8))]),
        ("layer2", "Sequential", 0, 0, [("[0]", (2, 8, 8, 8))], [("", (2, 16, 4, 4))]),
        ("layer2.0", "BasicBlock", 0, 0, [("[0]", (2, 8, 8, 8))], [("", (2, 16, 4, 4))]),
        ("layer2.0.conv1", "Conv2d", 0, 1152, [("[0]", (2, 8, 8, 8))], [("", (2, 16, 4, 4))]),
        ("layer2.0.bn1", "BatchNorm2d", 0, 32, [("[0]", (2, 16, 4, 4))], [("", (2, 16, 4, 4))]),
        ("layer2.0.relu", "ReLU", 0, 0, [("[0]", (2, 16, 4, 4))], [("", (2, 16, 4, 4))]),
        ("layer2.0.conv2", "Conv2d", 0, 2304, [("[0]", (2, 16, 4, 4))], [("", (2, 16, 4, 4))]),
        ("layer2.0.bn2", "BatchNorm2d", 0, 32, [("[0]", (2, 16, 4, 4))], [("", (2, 16, 4, 4))]),
        ("layer2.0.downsample", "Sequential", 0, 0, [("[0]", (2, 8, 8, 8))], [("", (2, 16, 4, 4))]),
        ("layer2.0.downsample.0", "Conv2d", 0, 128, [("[0]", (2, 8, 8, 8))], [("", (2, 16, 4, 4))]),
        (
            "layer2.0.downsample.1",
            "BatchNorm2d",
            0,
            32,
            [("[0]", (2, 16, 4, 4))],
            [("", (2, 16, 4, 4))],
        ),
        ("layer2.0.relu", "ReLU", 1, 0, [("[0]", (2, 16, 4, 4))], [("", (2, 16, 4, 4))]),
        ("avgpool", "AdaptiveAvgPool2d", 0, 0, [("[0]", (2, 16, 4, 4))], [("", (2, 16, 1, 1))]),
        ("fc", "Linear", 0, 170, [("[0]", (2, 16))], [("", (2, 10))]),
    ],
    "uncalled": [],
    "shared": {},
}
