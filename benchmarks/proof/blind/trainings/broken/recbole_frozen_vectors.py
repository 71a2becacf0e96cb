r"""A click model that starts from weak pretrained item vectors and should fine-tune them.

Source: https://github.com/RUCAIBox/RecBole/issues/2046
    https://github.com/huggingface/optimum-graphcore/pull/304
Fault: from_pretrained freezes its weight unless freeze=False is given, so the item vectors never
    adapt to the clicks.
Cause: freeze|frozen|requires_grad|from_pretrained|item.*(not|never).*(train|updat|tun)
Place: item_embedding|embedding
"""

import torch
import torch.nn.functional as F
from torch import nn


class TwoTower(nn.Module):
    def __init__(self, item_vectors, n_users):
        super().__init__()
        self.item_embedding = nn.Embedding.from_pretrained(item_vectors)  # here
        self.user_embedding = nn.Embedding(n_users, item_vectors.shape[1])
        nn.init.normal_(self.user_embedding.weight, std=0.1)

    def forward(self, user, item):
        return (self.user_embedding(user) * self.item_embedding(item)).sum(1)


torch.manual_seed(2020)
n_users, n_items, dim = 120, 80, 8
taste, trait = torch.randn(n_users, dim), torch.randn(n_items, dim)
clicks = ((taste @ trait.T) > 0).float()
model = TwoTower(0.3 * torch.randn(n_items, dim), n_users)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
for step in range(300):
    user, item = torch.randint(0, n_users, (512,)), torch.randint(0, n_items, (512,))
    score = model(user, item)
    loss = F.binary_cross_entropy_with_logits(score, clicks[user, item])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        acc = ((score > 0).float() == clicks[user, item]).float().mean().item()
        print(f"step {step} train loss {loss.item():.4f} accuracy {acc:.3f}")
