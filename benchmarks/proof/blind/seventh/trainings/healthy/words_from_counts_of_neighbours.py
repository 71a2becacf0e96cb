r"""Vectors of words from the counts of words near each other.

Source: https://github.com/stanfordnlp/GloVe
Odd: Each word has two vectors that are added at the end, rare pairs count less and pairs that
    never occur are left out; Adagrad has a rate of 0.05 and each term is weighted and not
    averaged by size.
"""

import torch
from torch import nn

torch.manual_seed(17)
WORDS, TOPICS, DIM = 90, 6, 12
X_MAX, ALPHA = 60.0, 0.75


def count_pairs(sentences=3000, length=8):
    topic_of_word = torch.arange(WORDS) % TOPICS
    frequency = 1.0 / (1.0 + torch.arange(WORDS).float() / 6)
    counts = torch.zeros(WORDS, WORDS)
    topics = torch.randint(0, TOPICS, (sentences,))
    weights = frequency * (0.06 + (topic_of_word[None] == topics[:, None]).float())
    text = torch.multinomial(weights, length, replacement=True)
    for gap in range(1, 5):
        a, b = text[:, :-gap].flatten(), text[:, gap:].flatten()
        counts.index_put_((a, b), torch.full(a.shape, 1.0 / gap), accumulate=True)
        counts.index_put_((b, a), torch.full(a.shape, 1.0 / gap), accumulate=True)
    return counts, topic_of_word


class Glove(nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.c = nn.Embedding(WORDS, DIM), nn.Embedding(WORDS, DIM)
        self.bw, self.bc = nn.Embedding(WORDS, 1), nn.Embedding(WORDS, 1)
        for table in (self.w, self.c, self.bw, self.bc):
            nn.init.uniform_(table.weight, -0.5 / DIM, 0.5 / DIM)

    def forward(self, i, j):
        return (self.w(i) * self.c(j)).sum(1) + (self.bw(i) + self.bc(j)).squeeze(1)

    def vectors(self):
        return (self.w.weight + self.c.weight).detach()


def same_topic(vectors, topic):
    v = nn.functional.normalize(vectors - vectors.mean(0), dim=1)
    near = (v @ v.t() - 9 * torch.eye(WORDS)).topk(5, dim=1).indices
    return (topic[near] == topic[:, None]).float().mean().item()


counts, topic = count_pairs()
i, j = counts.nonzero(as_tuple=True)
x = counts[i, j]
weight = (x / X_MAX).clamp(max=1.0) ** ALPHA
model = Glove()
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
print(f"{len(x)} pairs, same topic before {same_topic(model.vectors(), topic):.3f}")
for epoch in range(24):
    total = 0.0
    for rows in torch.randperm(len(x)).split(512):
        error = model(i[rows], j[rows]) - x[rows].log()
        loss = 0.5 * (weight[rows] * error.square()).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 6 == 5:
        same = same_topic(model.vectors(), topic)
        print(f"epoch {epoch + 1} loss {total / len(x):.4f} same topic {same:.3f}")
