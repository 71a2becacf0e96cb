r"""Picks out marked values with a single attention block written with einsum.

Source: https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/146
Fault: The softmax runs over the queries (i) and not over the keys (j), so the weights of one query
    do not sum to one and it cannot choose a key.
Cause: softmax.*(dim|axis|quer|key|wrong)|(dim|axis).*softmax|normali[sz].*(quer|key|axis|dim)
Place: attn|AttentionBlock|softmax
"""

import torch
import torch.nn.functional as F
from torch import nn


class AttentionBlock(nn.Module):
    def __init__(self, n_channels, d_k=16):
        super().__init__()
        self.projection = nn.Linear(n_channels, 3 * d_k)
        self.output = nn.Linear(d_k, n_channels)
        self.scale = d_k**-0.5

    def forward(self, x):
        q, k, v = self.projection(x).chunk(3, dim=-1)
        attn = torch.einsum("bid,bjd->bij", q, k) * self.scale
        attn = attn.softmax(dim=1)  # here
        return self.output(torch.einsum("bij,bjd->bid", attn, v)) + x


torch.manual_seed(0)
embed, block, head = nn.Linear(3, 16), AttentionBlock(16), nn.Linear(16, 1)
params = [*embed.parameters(), *block.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(params, lr=5e-3)
for step in range(250):
    n = int(torch.randint(4, 24, (1,)))
    values, marks = torch.randn(64, n), torch.zeros(64, n)
    where = torch.randint(1, n, (64,))
    marks[torch.arange(64), where] = 1.0
    first = torch.zeros(64, n)
    first[:, 0] = 1.0
    x = torch.stack([values, marks, first], dim=-1)
    pred = head(block(embed(x)))[:, 0, 0]
    loss = F.mse_loss(pred, values[torch.arange(64), where])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"step {step} length {n} loss {loss.item():.4f}")
