r"""Vision transformer with a few tokens that belong to no part of the picture.

Source: https://github.com/facebookresearch/dinov2/blob/main/dinov2/models/vision_transformer.py
Odd: The register tokens take part in the attention, and what comes out of them is not used; class
    token and registers start with a deviation of one millionth.
"""

import torch
from torch import nn


class VisionTransformer(nn.Module):
    def __init__(self, dim=32, depth=3, heads=4, patch=6, size=24, registers=4, classes=9):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, patch, stride=patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.register_tokens = nn.Parameter(torch.zeros(1, registers, dim))
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + (size // patch) ** 2, dim))
        nn.init.trunc_normal_(self.pos_embed, std=0.02)
        nn.init.normal_(self.cls_token, std=1e-6)
        nn.init.normal_(self.register_tokens, std=1e-6)
        layer = nn.TransformerEncoderLayer(
            dim, heads, 2 * dim, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(2 * dim, classes)
        self.num_registers = registers

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls_token.expand(len(x), -1, -1), x), dim=1) + self.pos_embed
        registers = self.register_tokens.expand(len(x), -1, -1)
        x = torch.cat((x[:, :1], registers, x[:, 1:]), dim=1)
        x = self.norm(self.blocks(x))
        patches = x[:, 1 + self.num_registers :]
        return self.head(torch.cat((x[:, 0], patches.mean(dim=1)), dim=1))


def build():
    return VisionTransformer()


def example_inputs():
    return torch.rand(4, 3, 24, 24)
