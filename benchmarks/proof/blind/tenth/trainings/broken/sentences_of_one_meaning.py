r"""Encoder that puts sentences of one meaning side by side, trained on pairs.

Source: https://github.com/KevinMusgrave/pytorch-metric-learning/issues/504
Fault: The margins are those of a distance (0 for pairs, 1 for others) but a cosine similarity is
    measured, so pairs are only pulled to a similarity of 0 and others are never pushed apart.
Cause: margin.{0,120}(distance|similarit|cosine|wrong|swap|never|revers|inver|satisf|0 and 1|pos
    |neg)|(similarit|cosine).{0,100}(margin|distance|threshold)|negative.{0,60}(never|not
    |no).{0,40}(push|penal|separat|loss|contribut|gradient)|loss.{0,40}(is|becomes
    |falls to) zero.{0,60}(margin|similarit)
Place: pos_margin|neg_margin|ContrastiveLoss|loss_fn|margin
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(504)
MEANINGS, WORDS, LENGTH = 30, 120, 8
synonyms = torch.randint(0, WORDS, (MEANINGS, 12))


def sentences(meanings):
    own = synonyms[meanings].gather(1, torch.randint(0, 12, (len(meanings), LENGTH)))
    noise = torch.randint(0, WORDS, own.shape)
    return torch.where(torch.rand(own.shape) < 0.35, noise, own)


class ContrastiveLoss(nn.Module):
    def __init__(self, pos_margin=0.0, neg_margin=1.0):  # here
        super().__init__()
        self.pos_margin, self.neg_margin = pos_margin, neg_margin

    def forward(self, embeddings, labels):
        sim = F.normalize(embeddings) @ F.normalize(embeddings).T
        same = labels[:, None] == labels[None]
        other = ~same
        same = same & ~torch.eye(len(labels), dtype=torch.bool)
        pos = F.relu(self.pos_margin - sim)[same]
        neg = F.relu(sim - self.neg_margin)[other]
        return pos.mean() + neg.mean()


model = nn.Sequential(nn.EmbeddingBag(WORDS, 32), nn.ReLU(), nn.Linear(32, 16))
loss_fn = ContrastiveLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)


@torch.no_grad()
def found():
    meanings = torch.arange(MEANINGS).repeat(4)
    a, b = (F.normalize(model(sentences(meanings))) for _ in range(2))
    return (meanings[(a @ b.T).argmax(1)] == meanings).float().mean().item()


for step in range(300):
    meanings = torch.randint(0, MEANINGS, (48,)).repeat(2)
    loss = loss_fn(model(sentences(meanings)), meanings)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        print(f"step {step + 1} loss {loss.item():.5f} nearest of the same meaning {found():.3f}")
