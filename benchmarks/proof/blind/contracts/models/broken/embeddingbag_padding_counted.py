r"""The model `TagRecommender`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.EmbeddingBag.html
Fault: EmbeddingBag in mean mode has no padding_idx, so padded entries count in the mean.
Cause: padding_idx|pad
"""

import torch
import torch.nn as nn


class TagRecommender(nn.Module):
    def __init__(self, tags=90, dim=24, out=8):
        super().__init__()
        self.bag = nn.EmbeddingBag(tags, dim, mode="mean")
        self.price = nn.Linear(1, dim)
        self.head = nn.Sequential(nn.Linear(2 * dim, 32), nn.ReLU(), nn.Linear(32, out))

    def forward(self, tags, price):
        t = self.bag(tags)
        p = self.price(price)
        return self.head(torch.cat([t, p], dim=1))


def make_tags(n=8, width=10):
    """Tag ids start at 1, shorter lists are filled up with 0."""
    tags = torch.randint(1, 90, (n, width))
    for i in range(n):
        tags[i, 1 + i:] = 0
    return tags


torch.manual_seed(0)
model = TagRecommender()
example_inputs = (make_tags(), torch.randn(8, 1),)
