r"""The self-attention block of a DDPM U-Net, with einsum.

Source: https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/146
Fault: the scores bijh are normalised over i, the queries, so the weights of a query do not sum to
    1.
Cause: softmax|normali[sz]\w* over.*(quer|dim|axis)
Place: attn|softmax
"""

import torch
from torch import nn


class AttentionBlock(nn.Module):
    def __init__(self, n_channels=16, n_heads=2, d_k=8):
        super().__init__()
        self.norm = nn.GroupNorm(4, n_channels)
        self.projection = nn.Linear(n_channels, n_heads * d_k * 3)
        self.output = nn.Linear(n_heads * d_k, n_channels)
        self.scale = d_k**-0.5
        self.n_heads, self.d_k = n_heads, d_k

    def forward(self, x):
        batch_size, n_channels, height, width = x.shape
        h = self.norm(x).view(batch_size, n_channels, -1).permute(0, 2, 1)
        qkv = self.projection(h).view(batch_size, -1, self.n_heads, 3 * self.d_k)
        q, k, v = torch.chunk(qkv, 3, dim=-1)
        attn = torch.einsum("bihd,bjhd->bijh", q, k) * self.scale
        attn = attn.softmax(dim=1)  # here
        res = torch.einsum("bijh,bjhd->bihd", attn, v).reshape(
            batch_size, -1, self.n_heads * self.d_k
        )
        res = self.output(res).permute(0, 2, 1).view(batch_size, n_channels, height, width)
        return x + res


def example_inputs():
    return (torch.randn(2, 16, 4, 4),)
