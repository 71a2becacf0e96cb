r"""The model `Attention`.

Source: https://github.com/pytorch/pytorch/issues/124464
Fault: scaled_dot_product_attention applies dropout_p in eval mode too, since it does not know of
    self.training.
Cause: dropout.*(eval|training|inference|always|active)
    |(eval|inference).*(dropout|random|stochastic|determin)|self\.training|non-?determin|dropout_p
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, dim=32, heads=4, p=0.2):
        super().__init__()
        self.heads, self.p = heads, p
        self.q = nn.Linear(dim, dim)
        self.kv = nn.Linear(dim, 2 * dim)
        self.out = nn.Linear(dim, dim)

    def split(self, x):
        b, t, c = x.shape
        return x.view(b, t, self.heads, c // self.heads).transpose(1, 2)

    def forward(self, x, context):
        b, t, c = x.shape
        q = self.split(self.q(x))
        k, v = (self.split(u) for u in self.kv(context).chunk(2, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.p)
        return x + self.out(y.transpose(1, 2).reshape(b, t, c))


torch.manual_seed(0)
model = Attention()
example_inputs = (torch.randn(4, 6, 32), torch.randn(4, 9, 32),)
