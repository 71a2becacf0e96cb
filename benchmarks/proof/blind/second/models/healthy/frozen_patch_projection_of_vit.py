"""A small vision transformer with a random, frozen patch projection for contrastive learning.

Source: https://github.com/facebookresearch/moco-v3/blob/main/vits.py
Odd: the weight and the bias of the first layer have requires_grad=False; a fixed random patch
    projection makes the training stable (stop_grad_conv1).
"""

import torch
from torch import nn


class VisionTransformerMoCo(nn.Module):
    def __init__(self, dim=48, depth=2, stop_grad_conv1=True):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, 8, 8)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, 17, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 96, 0.0, "gelu", batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, 32))
        nn.init.normal_(self.cls_token, std=1e-6)
        if stop_grad_conv1:
            self.patch_embed.weight.requires_grad = False
            self.patch_embed.bias.requires_grad = False

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.pos_embed
        return self.head(self.blocks(x)[:, 0])


def example_inputs():
    return (torch.randn(4, 3, 32, 32),)
