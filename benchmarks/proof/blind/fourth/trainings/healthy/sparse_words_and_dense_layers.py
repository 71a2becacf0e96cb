r"""Text classifier whose word vectors have sparse gradients and an optimizer of their own.

Source: https://pytorch.org/docs/stable/generated/torch.optim.SparseAdam.html
Odd: Two optimizers step in turn; most words get no gradient in a step.
"""

import torch
from torch import nn


class BagOfWords(nn.Module):
    def __init__(self, vocab=2000, dim=16):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab, dim, sparse=True)
        self.fc = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, text, offsets):
        return self.fc(self.embedding(text, offsets))


torch.manual_seed(0)
topic = torch.randint(0, 4, (600,))
words = topic[:, None] * 100 + torch.randint(0, 100, (600, 8))
words = torch.where(torch.rand(600, 8) < 0.4, torch.randint(400, 2000, (600, 8)), words)
model = BagOfWords()
sparse = torch.optim.SparseAdam(list(model.embedding.parameters()), lr=5e-2)
dense = torch.optim.Adam(model.fc.parameters(), lr=1e-2)
for epoch in range(3):
    for index in torch.randperm(600).split(32):
        text = words[index].flatten()
        offsets = torch.arange(0, len(text), 8)
        loss = nn.functional.cross_entropy(model(text, offsets), topic[index])
        for optimizer in (sparse, dense):
            optimizer.zero_grad()
        loss.backward()
        for optimizer in (sparse, dense):
            optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
