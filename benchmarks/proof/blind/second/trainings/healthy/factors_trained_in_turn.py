"""Matrix factorisation where two optimisers take turns.

Source: https://github.com/benfred/implicit
Odd: in each epoch half of the parameters get no update at all, although they have gradients; the
    two factors are trained in turn, and each loss is convex.
"""

import torch
from torch import nn

torch.manual_seed(27)
truth = torch.randn(60, 3) @ torch.randn(3, 50)
seen = torch.rand(60, 50) < 0.4


class Factorisation(nn.Module):
    def __init__(self, rank=3):
        super().__init__()
        self.rows = nn.Parameter(0.3 * torch.randn(60, rank))
        self.columns = nn.Parameter(0.3 * torch.randn(50, rank))

    def forward(self):
        return self.rows @ self.columns.t()


model = Factorisation()
turns = {
    "rows": torch.optim.Adam([model.rows], lr=0.05),
    "columns": torch.optim.Adam([model.columns], lr=0.05),
}
for epoch in range(24):
    turn = ("rows", "columns")[epoch % 2]
    optimizer = turns[turn]
    for _ in range(10):
        loss = (model() - truth)[seen].square().mean()
        model.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 4 in (0, 1):
        hidden = (model() - truth)[~seen].square().mean().item()
        print(f"epoch {epoch} turn {turn} loss {loss.item():.4f} unseen {hidden:.4f}")
