r"""Recommender that learns from triples of a user, a liked item and another item.

Source: https://github.com/guoyang9/BPR-pytorch
Odd: There are no targets in the loss; the scores are only compared, so their level is free.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class BPRData(Dataset):
    def __init__(self, likes, num_item):
        self.likes = likes
        self.rows = likes.nonzero()
        self.num_item = num_item

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        user, item_i = self.rows[index].tolist()
        item_j = int(torch.randint(0, self.num_item, ()))
        while self.likes[user, item_j]:
            item_j = int(torch.randint(0, self.num_item, ()))
        return user, item_i, item_j


class BPR(nn.Module):
    def __init__(self, users, items, factors=16):
        super().__init__()
        self.embed_user = nn.Embedding(users, factors)
        self.embed_item = nn.Embedding(items, factors)
        nn.init.normal_(self.embed_user.weight, std=0.01)
        nn.init.normal_(self.embed_item.weight, std=0.01)

    def forward(self, user, item_i, item_j):
        user = self.embed_user(user)
        return (user * self.embed_item(item_i)).sum(-1), (user * self.embed_item(item_j)).sum(-1)


torch.manual_seed(0)
taste = torch.randn(50, 3) @ torch.randn(3, 60)
likes = taste > 2
loader = DataLoader(BPRData(likes, 60), batch_size=64, shuffle=True)
model = BPR(50, 60)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=1e-4)
for epoch in range(8):
    total = 0.0
    for user, item_i, item_j in loader:
        model.zero_grad()
        prediction_i, prediction_j = model(user, item_i, item_j)
        loss = -(prediction_i - prediction_j).sigmoid().log().mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / len(loader):.4f}")
score = (model.embed_user.weight @ model.embed_item.weight.t()).detach()
hit = likes.gather(1, score.topk(5).indices).float().mean().item()
print(f"liked items among the first five {hit:.3f}")
