r"""Cross attention of text tokens to the latest image, as in a visual language model.

Source: https://github.com/lucidrains/flamingo-pytorch/issues/10
Fault: masked_fill is not in place and its result is dropped, so text before any image attends.
Cause: masked_fill.*(result|return|in[- ]?place|discard|drop|unused|no effect)
    |mask.*(no effect|ignored|unused)|(result|output).*(discard|unused|never used)
Place: masked_fill|attn|MaskedCrossAttention|forward
"""

import torch
from torch import nn


class MaskedCrossAttention(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads = heads
        self.scale = (dim // heads) ** -0.5
        self.norm = nn.LayerNorm(dim)
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_kv = nn.Linear(dim, dim * 2, bias=False)
        self.to_out = nn.Linear(dim, dim, bias=False)

    def split(self, t):
        return t.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, media, text_without_media):
        q = self.split(self.to_q(self.norm(x))) * self.scale
        k, v = (self.split(t) for t in self.to_kv(media).chunk(2, dim=-1))
        attn = (q @ k.transpose(-1, -2)).softmax(dim=-1)
        attn.masked_fill(text_without_media[:, None, :, None], 0.0)  # here
        return self.to_out((attn @ v).transpose(1, 2).flatten(2))


def build():
    return MaskedCrossAttention()


def example_inputs():
    before = torch.arange(8).expand(3, 8) < torch.tensor([[0], [2], [4]])
    return torch.randn(3, 8, 32), torch.randn(3, 5, 32), before
