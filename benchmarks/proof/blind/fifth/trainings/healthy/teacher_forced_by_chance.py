r"""Sequence to sequence network that is fed the truth or its own guess by chance.

Source: https://github.com/bentrevett/pytorch-seq2seq/blob/main/1%20-%20Sequence%20to%20Sequence%20Learning%20with%20Neural%20Networks.ipynb
Odd: In some steps the decoder reads its own argmax, which has no gradient; the loss is noisier.
"""

import random

import torch
from torch import nn
from torch.nn import functional as F


class Seq2Seq(nn.Module):
    def __init__(self, vocab=12, dim=48):
        super().__init__()
        self.source, self.target = nn.Embedding(vocab, dim), nn.Embedding(vocab, dim)
        self.encoder, self.decoder = nn.GRU(dim, dim), nn.GRU(dim, dim)
        self.fc_out = nn.Linear(dim, vocab)

    def forward(self, src, trg, teacher_forcing_ratio=0.5):
        _, hidden = self.encoder(self.source(src))
        outputs = []
        input = trg[0]
        for t in range(1, len(trg)):
            output, hidden = self.decoder(self.target(input)[None], hidden)
            prediction = self.fc_out(output[0])
            outputs.append(prediction)
            teacher_force = random.random() < teacher_forcing_ratio
            input = trg[t] if teacher_force else prediction.argmax(1)
        return torch.stack(outputs)


def pairs(count):
    src = torch.randint(1, 12, (4, count))
    return src, torch.cat([torch.zeros(1, count, dtype=torch.long), src.flip(0)])


random.seed(0)
torch.manual_seed(0)
model = Seq2Seq()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(100):
    src, trg = pairs(128)
    output = model(src, trg)
    loss = F.cross_entropy(output.flatten(0, 1), trg[1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1)
    optimizer.step()
    if step % 25 == 24:
        print(f"step {step + 1} loss {loss.item():.4f}")
src, trg = pairs(300)
with torch.no_grad():
    guess = model(src, trg, 0.0).argmax(-1)
print(f"right tokens without the teacher {(guess == trg[1:]).float().mean().item():.3f}")
