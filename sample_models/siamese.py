"""Two branches that share one encoder: two names, one module, two calls."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Encoder(nn.Module):
    """Turn an image into a short vector."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.project = nn.Linear(16, width)

    def forward(self, images: Tensor) -> Tensor:
        """Map images (B, 1, H, W) to vectors (B, width)."""
        x = F.relu(self.norm(self.conv1(images)))
        x = F.relu(self.conv2(x))
        return self.project(x.mean(dim=(2, 3)))


class Branch(nn.Module):
    """Embed images on the unit sphere with an encoder that may be shared."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, images: Tensor) -> Tensor:
        """Map images (B, 1, H, W) to unit vectors (B, width)."""
        return F.normalize(self.encoder(images), dim=1)


class SiameseNet(nn.Module):
    """Compute the distance between the images of each pair, with one encoder for both sides."""

    def __init__(self) -> None:
        super().__init__()
        encoder = Encoder()
        self.left = Branch(encoder)
        self.right = Branch(encoder)

    def forward(self, a: Tensor, b: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the distances (B,) and, for each side, the embeddings (B, width)."""
        embedding_a = self.left(a)
        embedding_b = self.right(b)
        distance = F.pairwise_distance(embedding_a, embedding_b)
        return distance, (embedding_a, embedding_b)


def example_inputs() -> tuple[Tensor, Tensor]:
    """Return two pairs of grey images of 16x16 pixels."""
    return torch.randn(2, 1, 16, 16), torch.randn(2, 1, 16, 16)


# Parameters, of the one encoder that there is:
#   conv1     1*8*3*3 + 8         80
#   norm      8+8                 16
#   conv2     8*16*3*3 + 16     1168
#   project   16*8 + 8           136
# Buffers: the running_mean, running_var and num_batches_tracked of one BatchNorm.
# Sizes: (16 + 2*1 - 3)//2 + 1 = 8, then (8 + 2*1 - 3)//2 + 1 = 4.
EXPECTED = {
    "type": "SiameseNet",
    "parameters": 1400,  # 80 + 16 + 1168 + 136
    "trainable_parameters": 1400,
    "buffers": 3,
    "calls": [
        (
            "",
            "SiameseNet",
            0,
            0,
            [("[0]", (2, 1, 16, 16)), ("[1]", (2, 1, 16, 16))],
            [("[0]", (2,)), ("[1][0]", (2, 8)), ("[1][1]", (2, 8))],
        ),
        ("left", "Branch", 0, 0, [("[0]", (2, 1, 16, 16))], [("", (2, 8))]),
        ("left.encoder", "Encoder", 0, 0, [("[0]", (2, 1, 16, 16))], [("", (2, 8))]),
        ("left.encoder.conv1", "Conv2d", 0, 80, [("[0]", (2, 1, 16, 16))], [("", (2, 8, 8, 8))]),
        ("left.encoder.norm", "BatchNorm2d", 0, 16, [("[0]", (2, 8, 8, 8))], [("", (2, 8, 8, 8))]),
        ("left.encoder.conv2", "Conv2d", 0, 1168, [("[0]", (2, 8, 8, 8))], [("", (2, 16, 4, 4))]),
        ("left.encoder.project", "Linear", 0, 136, [("[0]", (2, 16))], [("", (2, 8))]),
        ("right", "Branch", 0, 0, [("[0]", (2, 1, 16, 16))], [("", (2, 8))]),
        # right.encoder is left.encoder, called for the second time
        ("left.encoder", "Encoder", 1, 0, [("[0]", (2, 1, 16, 16))], [("", (2, 8))]),
        ("left.encoder.conv1", "Conv2d", 1, 80, [("[0]", (2, 1, 16, 16))], [("", (2, 8, 8, 8))]),
        ("left.encoder.norm", "BatchNorm2d", 1, 16, [("[0]", (2, 8, 8, 8))], [("", (2, 8, 8, 8))]),
        ("left.encoder.conv2", "Conv2d", 1, 1168, [("[0]", (2, 8, 8, 8))], [("", (2, 16, 4, 4))]),
        ("left.encoder.project", "Linear", 1, 136, [("[0]", (2, 16))], [("", (2, 8))]),
    ],
    "uncalled": [],
    "shared": {
        "left.encoder.conv1.weight": ["right.encoder.conv1.weight"],
        "left.encoder.conv1.bias": ["right.encoder.conv1.bias"],
        "left.encoder.norm.weight": ["right.encoder.norm.weight"],
        "left.encoder.norm.bias": ["right.encoder.norm.bias"],
        "left.encoder.conv2.weight": ["right.encoder.conv2.weight"],
        "left.encoder.conv2.bias": ["right.encoder.conv2.bias"],
        "left.encoder.project.weight": ["right.encoder.project.weight"],
        "left.encoder.project.bias": ["right.encoder.project.bias"],
    },
}
