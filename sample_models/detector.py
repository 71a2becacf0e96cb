"""A one-stage detector with a head that is never called and a helper that is not registered."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class BoxDecoder(nn.Module):
    """Convert distances from the cell centres into boxes, without parameters."""

    def __init__(self, stride: int) -> None:
        super().__init__()
        self.stride = stride

    def forward(self, distances: Tensor) -> Tensor:
        """Map (B, 4, H, W) to boxes (B, H * W, 4): x1, y1, x2, y2 in pixels."""
        height, width = distances.shape[-2:]
        y = (torch.arange(height, device=distances.device) + 0.5) * self.stride
        x = (torch.arange(width, device=distances.device) + 0.5) * self.stride
        y, x = torch.meshgrid(y, x, indexing="ij")
        left, top, right, bottom = (F.softplus(distances) * self.stride).unbind(dim=1)
        return torch.stack((x - left, y - top, x + right, y + bottom), dim=-1).flatten(1, 2)


class Detector(nn.Module):
    """Return boxes and scores for each cell of a coarse grid, or losses if targets are given."""

    stride = 8
    pixel_mean: Tensor
    pixel_std: Tensor

    def __init__(self, classes: int = 4) -> None:
        super().__init__()
        self.register_buffer("pixel_mean", torch.full((3, 1, 1), 0.5))
        self.register_buffer("pixel_std", torch.full((3, 1, 1), 0.25))
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.class_head = nn.Conv2d(32, classes + 1, 1)  # class 0 is the background
        self.box_head = nn.Conv2d(32, 4, 1)
        self.mask_head = nn.Sequential(  # left over from an experiment: forward never calls it
            nn.Conv2d(32, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 1)
        )
        self._helpers = [BoxDecoder(self.stride)]  # a plain list registers nothing

    def forward(
        self, images: Tensor, targets: list[dict[str, Tensor]] | None = None
    ) -> dict[str, Tensor]:
        """Detect objects in images (B, 3, H, W).

        A target has the "boxes" (n, 4) and the "labels" (n,), 1 to classes, of one image. With
        targets the result holds "class_loss" and "box_loss", scalars; without, "boxes"
        (B, cells, 4) and "scores" (B, cells, classes + 1).
        """
        features = self.backbone((images - self.pixel_mean) / self.pixel_std)
        logits = self.class_head(features).flatten(2).transpose(1, 2)
        boxes = self._helpers[0](self.box_head(features))
        if targets is None:
            return {"boxes": boxes, "scores": logits.softmax(dim=-1)}

        labels = torch.zeros(logits.shape[:2], dtype=torch.long, device=logits.device)
        box_loss = boxes.new_zeros(())
        for image, target in enumerate(targets):
            cells = self._cells(target["boxes"], *features.shape[-2:])
            labels[image, cells] = target["labels"]
            errors = F.smooth_l1_loss(boxes[image, cells], target["boxes"], reduction="sum")
            box_loss = box_loss + errors
        objects = sum(len(target["boxes"]) for target in targets)
        return {
            "class_loss": F.cross_entropy(logits.flatten(0, 1), labels.flatten()),
            "box_loss": box_loss / max(objects, 1),
        }

    def _cells(self, boxes: Tensor, height: int, width: int) -> Tensor:
        """Return the cells (n,) of the flattened grid that contain the centres of boxes (n, 4)."""
        x, y = ((boxes[:, :2] + boxes[:, 2:]) / 2 / self.stride).long().unbind(dim=1)
        return y.clamp(0, height - 1) * width + x.clamp(0, width - 1)


def example_inputs() -> tuple[Tensor, list[dict[str, Tensor]]]:
    """Return two images of 64x64 pixels, with three objects and with one."""
    three = torch.tensor([[4.0, 4, 20, 28], [30, 8, 62, 24], [10, 40, 34, 60]])
    one = torch.tensor([[16.0, 16, 48, 56]])
    targets = [
        {"boxes": three, "labels": torch.tensor([1, 3, 2])},
        {"boxes": one, "labels": torch.tensor([4])},
    ]
    return torch.rand(2, 3, 64, 64), targets


# Parameters
#   backbone     3*8*9 + 8 = 224, 8*16*9 + 16 = 1168, 16*32*9 + 32 = 4640         6032
#   class_head   32*5 + 5                                                          165
#   box_head     32*4 + 4                                                          132
#   mask_head    32*16*9 + 16 = 4624, 16*1 + 1 = 17                               4641
# Buffers: pixel_mean and pixel_std.
# Sizes: each stride 2 gives (n + 2*1 - 3)//2 + 1 = n/2: 64, 32, 16, 8; so 8*8 = 64 cells.
EXPECTED = {
    "type": "Detector",
    "parameters": 10970,  # 6032 + 165 + 132 + 4641
    "trainable_parameters": 10970,
    "buffers": 2,
    "calls": [
        (
            "",
            "Detector",
            0,
            0,
            [
                ("[0]", (2, 3, 64, 64)),
                ("[1][0].boxes", (3, 4)),
                ("[1][0].labels", (3,)),
                ("[1][1].boxes", (1, 4)),
                ("[1][1].labels", (1,)),
            ],
            [(".class_loss", ()), (".box_loss", ())],
        ),
        ("backbone", "Sequential", 0, 0, [("[0]", (2, 3, 64, 64))], [("", (2, 32, 8, 8))]),
        ("backbone.0", "Conv2d", 0, 224, [("[0]", (2, 3, 64, 64))], [("", (2, 8, 32, 32))]),
        ("backbone.1", "ReLU", 0, 0, [("[0]", (2, 8, 32, 32))], [("", (2, 8, 32, 32))]),
        ("backbone.2", "Conv2d", 0, 1168, [("[0]", (2, 8, 32, 32))], [("", (2, 16, 16, 16))]),
        ("backbone.3", "ReLU", 0, 0, [("[0]", (2, 16, 16, 16))], [("", (2, 16, 16, 16))]),
        ("backbone.4", "Conv2d", 0, 4640, [("[0]", (2, 16, 16, 16))], [("", (2, 32, 8, 8))]),
        ("backbone.5", "ReLU", 0, 0, [("[0]", (2, 32, 8, 8))], [("", (2, 32, 8, 8))]),
        ("class_head", "Conv2d", 0, 165, [("[0]", (2, 32, 8, 8))], [("", (2, 5, 8, 8))]),
        ("box_head", "Conv2d", 0, 132, [("[0]", (2, 32, 8, 8))], [("", (2, 4, 8, 8))]),
        (None, "BoxDecoder", 0, 0, [("[0]", (2, 4, 8, 8))], [("", (2, 64, 4))]),
    ],
    "uncalled": ["mask_head", "mask_head.0", "mask_head.1", "mask_head.2"],
    "shared": {},
}
