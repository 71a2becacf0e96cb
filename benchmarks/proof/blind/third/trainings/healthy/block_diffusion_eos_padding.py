r"""Masked-token training of a small text denoiser on padded sentences.

Source: https://github.com/inclusionAI/dFactory/issues/21
Odd: The padding is the end token and counts in the attention and the loss on purpose: the model
    has to learn where a text ends.
"""

import torch
from torch import nn

torch.manual_seed(0)
EOS, MASK = 0, 11
length = torch.randint(4, 12, (256, 1))
text = (torch.randint(1, 6, (256, 1)) + torch.arange(12)) % 10 + 1
text = torch.where(torch.arange(12) < length, text, torch.tensor(EOS))


class Denoiser(nn.Module):
    def __init__(self, vocab=12, dim=32):
        super().__init__()
        self.token = nn.Embedding(vocab, dim)
        self.position = nn.Embedding(12, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(dim, vocab)

    def forward(self, tokens):
        return self.head(self.blocks(self.token(tokens) + self.position(torch.arange(12))))


model = Denoiser()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(250):
    batch = text[torch.randint(0, 256, (32,))]
    hidden = torch.rand(batch.shape) < torch.rand(32, 1).clamp(min=0.2)
    scores = model(batch.masked_fill(hidden, MASK))
    loss = nn.functional.cross_entropy(scores[hidden], batch[hidden])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
