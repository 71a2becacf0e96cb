r"""Liking of products by viewers from nothing but embeddings spread along their links.

Source: https://github.com/gusye1234/LightGCN-PyTorch/blob/master/code/model.py
Odd: There are neither weight matrices nor activations; the mean over the depths of the spreading
    is a linear map of the embeddings, on purpose; rows out of reach of the batch get no gradient.
"""

import torch
from torch import nn


class LightSpread(nn.Module):
    def __init__(self, users=30, items=40, dim=16, depth=3):
        super().__init__()
        self.users, self.items, self.depth = users, items, depth
        self.embedding_user = nn.Embedding(users, dim)
        self.embedding_item = nn.Embedding(items, dim)
        nn.init.normal_(self.embedding_user.weight, std=0.1)
        nn.init.normal_(self.embedding_item.weight, std=0.1)
        generator = torch.Generator().manual_seed(7)
        seen = torch.rand(users, items, generator=generator) < 0.12
        adjacency = torch.zeros(users + items, users + items)
        adjacency[:users, users:] = seen.float()
        adjacency[users:, :users] = seen.float().T
        degree = adjacency.sum(1).clamp(min=1).rsqrt()
        self.register_buffer("graph", degree[:, None] * adjacency * degree)

    def computer(self):
        x = torch.cat([self.embedding_user.weight, self.embedding_item.weight])
        layers = [x]
        for _ in range(self.depth):
            x = self.graph @ x
            layers.append(x)
        out = torch.stack(layers, dim=1).mean(1)
        return out.split([self.users, self.items])

    def forward(self, users, positive, negative):
        all_users, all_items = self.computer()
        u = all_users[users]
        return (u * all_items[positive]).sum(1), (u * all_items[negative]).sum(1)


def build():
    return LightSpread()


def example_inputs():
    users = torch.randint(0, 30, (8,))
    return users, torch.randint(0, 40, (8,)), torch.randint(0, 40, (8,))
