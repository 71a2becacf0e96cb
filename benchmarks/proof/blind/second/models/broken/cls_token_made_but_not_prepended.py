"""A vision transformer for volumes, with its patch embedding as a block.

Source: https://github.com/Project-MONAI/MONAI/issues/3454
Fault: the block makes a class token but never concatenates it with the patches; the head reads
    position 0, which is the first patch, and the token has no gradient.
Cause: cls_token|class token|unused|(not|never) used|concat|prepend
Place: cls_token
"""

import torch
from torch import nn


class PatchEmbeddingBlock(nn.Module):
    def __init__(self, size=16, patch=4, hidden=32):
        super().__init__()
        self.patch_embeddings = nn.Conv3d(1, hidden, patch, patch)
        count = (size // patch) ** 3
        self.position_embeddings = nn.Parameter(torch.zeros(1, count, hidden))
        self.cls_token = nn.Parameter(torch.zeros(1, 1, hidden))
        nn.init.trunc_normal_(self.position_embeddings, std=0.02)
        nn.init.trunc_normal_(self.cls_token, std=0.02)

    def forward(self, x):
        x = self.patch_embeddings(x).flatten(2).transpose(1, 2)
        return x + self.position_embeddings  # here


class ViT3D(nn.Module):
    def __init__(self, hidden=32, classes=2):
        super().__init__()
        self.patch_embedding = PatchEmbeddingBlock(hidden=hidden)
        layer = nn.TransformerEncoderLayer(hidden, 4, 64, 0.0, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(hidden)
        self.classification_head = nn.Linear(hidden, classes)

    def forward(self, volume):
        x = self.norm(self.blocks(self.patch_embedding(volume)))
        return self.classification_head(x[:, 0])


def build():
    return ViT3D()


def example_inputs():
    return (torch.randn(2, 1, 16, 16, 16),)
