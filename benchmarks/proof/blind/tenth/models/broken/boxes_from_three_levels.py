r"""Detector that puts boxes of fixed sizes on the cells of three feature levels.

Source: https://github.com/pytorch/pytorch/issues/29807
Fault: The anchor tensors are kept in a plain list beside the registered buffers, and forward reads
    the list; moving or casting the model replaces the buffers but not the list.
Cause: (list|self\.anchors|plain|reference\w*|alias\w*).{0,140}(buffer|mov\w*|device|cuda|gpu|cast|dtype|half|double|\.to\b|stale|state_dict|load\w*)
    |(buffer\w*|device|dtype|cuda|\.to\(|half|double|cast\w*|mov\w*).{0,140}(list|old|stale|copy|not follow|left behind|stay|original)
Place: anchors|register_buffer|buffer|anchor_
"""

import torch
from torch import nn


class AnchorHead(nn.Module):
    def __init__(self, channels=32, classes=5, strides=(4, 8, 16)):
        super().__init__()
        self.strides = strides
        sizes = [(8, 10, 14), (24, 30, 40), (64, 80, 96)]
        self.anchors = []
        for i, level in enumerate(sizes):
            wh = torch.tensor([(s * r, s / r) for s in level for r in (0.7, 1.0, 1.4)])
            self.register_buffer(f"anchor_{i}", wh)
            self.anchors.append(getattr(self, f"anchor_{i}"))  # here
        count = len(self.anchors[0])
        self.cls = nn.Conv2d(channels, count * classes, 3, padding=1)
        self.box = nn.Conv2d(channels, count * 4, 3, padding=1)
        self.count, self.classes = count, classes
        nn.init.constant_(self.cls.bias, -4.6)

    def forward(self, feats):
        scores, boxes = [], []
        for feat, stride, wh in zip(feats, self.strides, self.anchors):
            n, _, h, w = feat.shape
            cls = self.cls(feat).view(n, self.count, self.classes, h, w)
            box = self.box(feat).view(n, self.count, 4, h, w).permute(0, 3, 4, 1, 2)
            ys = (torch.arange(h, device=feat.device) + 0.5) * stride
            xs = (torch.arange(w, device=feat.device) + 0.5) * stride
            grid = torch.stack(torch.meshgrid(xs, ys, indexing="xy"), -1)[None, :, :, None]
            centre = grid + box[..., :2] * wh
            size = wh * box[..., 2:].clamp(max=4).exp()
            boxes.append(torch.cat((centre - size / 2, centre + size / 2), -1).flatten(1, 3))
            scores.append(cls.permute(0, 3, 4, 1, 2).flatten(1, 3))
        return torch.cat(scores, 1), torch.cat(boxes, 1)


class LevelDetector(nn.Module):
    def __init__(self):
        super().__init__()

        def down(a, b):
            return nn.Sequential(nn.Conv2d(a, b, 3, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU())

        self.stem = nn.Sequential(down(3, 16), down(16, 32))
        self.stage2, self.stage3 = down(32, 32), down(32, 32)
        self.head = AnchorHead()

    def forward(self, x):
        a = self.stem(x)
        b = self.stage2(a)
        return self.head((a, b, self.stage3(b)))


def build():
    return LevelDetector()


def example_inputs():
    return (torch.rand(2, 3, 64, 64),)
