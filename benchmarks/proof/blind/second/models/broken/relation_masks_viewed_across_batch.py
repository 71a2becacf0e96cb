r"""A scene graph head whose queries come first, like the decoder gives them.

Source: https://github.com/Jingkang50/OpenPSG/issues/56
    https://github.com/zhouhaoyi/Informer2020/issues/59
Fault: view turns (queries, batch, dim) into (batch, queries, dim) where a transpose is needed, so
    with more than one image the queries of different images are mixed.
Cause: \bviews?\b|reshap|permut|transpos|mix(es|ed|ing)\b|swap|layout
Place: \.view\b|\bhidden\b
"""

import torch
from torch import nn


class MaskHead(nn.Module):
    def __init__(self, dim=32, queries=10, classes=5):
        super().__init__()
        self.query_embed = nn.Embedding(queries, dim)
        self.decoder = nn.TransformerDecoderLayer(dim, 4, 64, 0.0)
        self.cls = nn.Linear(dim, classes)
        self.mask_embed = nn.Linear(dim, dim)

    def forward(self, feats):
        batch, dim, height, width = feats.shape
        memory = feats.flatten(2).permute(2, 0, 1)
        queries = self.query_embed.weight[:, None].expand(-1, batch, -1)
        hidden = self.decoder(queries, memory)
        hidden = hidden.view(batch, -1, dim)  # here
        masks = self.mask_embed(hidden) @ feats.flatten(2)
        return self.cls(hidden), masks.view(batch, -1, height, width)


class SceneGraph(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 32, 3, 4, 1), nn.ReLU())
        self.head = MaskHead()

    def forward(self, images):
        return self.head(self.backbone(images))


def build():
    return SceneGraph()


def example_inputs():
    return (torch.randn(3, 3, 32, 32),)
