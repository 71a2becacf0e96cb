r"""Trains a neural factorisation machine on clicks.

Source: https://github.com/yudi-mars/daisyRec/pull/15
    https://github.com/avBuffer/UNet3plus_pth/issues/23
Fault: forward applies a sigmoid and the criterion is BCEWithLogitsLoss, which applies one more; the
    loss cannot go below 0.31 for positives and 0.69 for negatives.
Cause: sigmoid\b.*\b(twice|double|again|already|before|logits|remove)|double sigmoid|with.?logits
Place: criterion|sigmoid
"""

import torch
from torch import nn

torch.manual_seed(2022)
users, items = 40, 60
taste, style = torch.randn(users, 4), torch.randn(items, 4)
u = torch.randint(0, users, (2000,))
i = torch.randint(0, items, (2000,))
click = ((taste[u] * style[i]).sum(1) > 1.0).float()


class NeuMF(nn.Module):
    def __init__(self, factors=12):
        super().__init__()
        self.embed_user = nn.Embedding(users, factors)
        self.embed_item = nn.Embedding(items, factors)
        self.mlp = nn.Sequential(nn.Linear(2 * factors, 24), nn.ReLU())
        self.predict_layer = nn.Linear(24 + factors, 1)

    def forward(self, user, item):
        pu, qi = self.embed_user(user), self.embed_item(item)
        both = torch.cat([pu * qi, self.mlp(torch.cat([pu, qi], 1))], 1)
        return self.predict_layer(both).sigmoid().view(-1)  # here


model = NeuMF()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.BCEWithLogitsLoss(reduction="mean")
for epoch in range(8):
    current_loss = 0.0
    for rows in torch.randperm(2000).split(128):
        model.zero_grad()
        loss = criterion(model(u[rows], i[rows]), click[rows])
        loss.backward()
        optimizer.step()
        current_loss += loss.item() / 16
    print(f"[Epoch {epoch:03d}] loss {current_loss:.4f}")
