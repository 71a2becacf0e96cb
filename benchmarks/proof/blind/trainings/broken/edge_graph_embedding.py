r"""Classifies relations with pretrained word vectors and a small encoder.

Source: https://github.com/fenchri/edge-oriented-graph/issues/12
Fault: from_pretrained is a class method that returns a new layer; its result is thrown away, so the
    model goes on with random vectors (which are then frozen, as the option asks).
Cause: from_pretrained|pretrain.*(not|never|lost|discard|thrown|ignored)|random.*embed
Place: embedding
"""

import torch
import torch.nn.functional as F
from torch import nn


class EmbedLayer(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, freeze, pretrained):
        super().__init__()
        self.embedding = nn.Embedding(num_embeddings, embedding_dim)
        self.embedding.from_pretrained(pretrained, freeze=freeze)  # here
        self.embedding.weight.requires_grad_(not freeze)

    def forward(self, xs):
        return self.embedding(xs)


class RelationModel(nn.Module):
    def __init__(self, pretrained):
        super().__init__()
        self.embed = EmbedLayer(*pretrained.shape, freeze=True, pretrained=pretrained)
        self.out = nn.Sequential(
            nn.Linear(2 * pretrained.shape[1], 32), nn.ReLU(), nn.Linear(32, 2)
        )

    def forward(self, head, tail):
        return self.out(torch.cat([self.embed(head), self.embed(tail)], 1))


torch.manual_seed(0)
topic = torch.arange(400) % 4
vectors = 2 * F.one_hot(topic, 6).float() + 0.3 * torch.randn(400, 6)
model = RelationModel(vectors)
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=5e-3)
for it in range(200):
    head, tail = torch.randint(0, 300, (64,)), torch.randint(0, 300, (64,))
    loss = F.cross_entropy(model(head, tail), (topic[head] == topic[tail]).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 40 == 39:
        head, tail = torch.randint(300, 400, (500,)), torch.randint(300, 400, (500,))
        hit = model(head, tail).argmax(1) == (topic[head] == topic[tail])
        print(f"iter {it} loss {loss.item():.4f} accuracy on new words {hit.float().mean():.3f}")
