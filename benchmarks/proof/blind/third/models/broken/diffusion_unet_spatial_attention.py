r"""Self attention block over the places of a feature map in a denoising network.

Source: https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/146
Fault: The scores (batch, query, key, head) are normalised over the queries, not over the keys.
Cause: softmax.*(quer|wrong (dim|axis)|dim(ension)?[ =]*1|not .*key)|not sum to (1|one)
Place: softmax|attn|AttentionBlock|forward
"""

import torch
from torch import nn


class AttentionBlock(nn.Module):
    def __init__(self, channels=16, heads=2, d_k=8):
        super().__init__()
        self.norm = nn.GroupNorm(4, channels)
        self.projection = nn.Linear(channels, heads * d_k * 3)
        self.output = nn.Linear(heads * d_k, channels)
        self.heads, self.d_k = heads, d_k

    def forward(self, x):
        b, c, h, w = x.shape
        seq = self.norm(x).flatten(2).transpose(1, 2)
        qkv = self.projection(seq).view(b, -1, self.heads, 3 * self.d_k)
        q, k, v = torch.chunk(qkv, 3, dim=-1)
        attn = torch.einsum("bihd,bjhd->bijh", q, k) * self.d_k**-0.5
        attn = attn.softmax(dim=1)  # here
        res = torch.einsum("bijh,bjhd->bihd", attn, v).flatten(2)
        return x + self.output(res).transpose(1, 2).reshape(b, c, h, w)


def build():
    return AttentionBlock()


def example_inputs():
    return torch.randn(2, 16, 5, 5)
