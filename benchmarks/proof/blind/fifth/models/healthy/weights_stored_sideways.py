r"""Block of a language model with projections as in the first public releases.

Source: https://github.com/huggingface/transformers/blob/main/src/transformers/pytorch_utils.py
Odd: The projection holds its weight with inputs as rows, the transpose of what a linear layer has.
"""

import torch
from torch import nn
from torch.nn import functional as F


class Conv1D(nn.Module):
    """Works as a linear layer but the weights are transposed."""

    def __init__(self, nf, nx):
        super().__init__()
        self.nf = nf
        self.weight = nn.Parameter(torch.empty(nx, nf))
        self.bias = nn.Parameter(torch.zeros(nf))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x):
        size_out = (*x.size()[:-1], self.nf)
        x = torch.addmm(self.bias, x.reshape(-1, x.size(-1)), self.weight)
        return x.view(size_out)


class Block(nn.Module):
    def __init__(self, nx, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(nx), nn.LayerNorm(nx)
        self.c_attn, self.c_proj = Conv1D(3 * nx, nx), Conv1D(nx, nx)
        self.c_fc, self.c_out = Conv1D(4 * nx, nx), Conv1D(nx, 4 * nx)

    def forward(self, x):
        b, t, d = x.shape
        split = self.c_attn(self.ln_1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(*split, is_causal=True)
        x = x + self.c_proj(a.transpose(1, 2).reshape(b, t, d))
        return x + self.c_out(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class LanguageModel(nn.Module):
    def __init__(self, vocab=100, nx=32, context=24):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, nx), nn.Embedding(context, nx)
        self.h = nn.ModuleList(Block(nx, 4) for _ in range(2))
        self.ln_f = nn.LayerNorm(nx)
        self.lm_head = nn.Linear(nx, vocab, bias=False)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe.weight[: ids.size(1)]
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def build():
    return LanguageModel()


def example_inputs():
    return torch.randint(0, 100, (4, 16))
