"""Transformer that writes the digits of a date in another order.

Source: https://github.com/jadore801120/attention-is-all-you-need-pytorch/issues/123
Odd: Nothing is shifted: the decoder gets the target without its last sign and has to give the
    target without its first one, which comes to the same.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(123)
BOS, EOS, VOCAB, DIM = 10, 11, 12, 48
order = torch.tensor([4, 5, 2, 3, 0, 1])


def dates(count):
    digits = torch.randint(0, 10, (count, 6))
    start, end = torch.full((count, 1), BOS), torch.full((count, 1), EOS)
    return digits, torch.cat([start, digits[:, order], end], 1)


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, DIM)
        self.place = nn.Parameter(torch.randn(1, 8, DIM))
        self.transformer = nn.Transformer(DIM, 4, 1, 1, 96, dropout=0.0, batch_first=True)
        self.head = nn.Linear(DIM, VOCAB)

    def forward(self, source, target):
        source = self.embedding(source) + self.place[:, : source.shape[1]]
        queries = self.embedding(target) + self.place[:, : target.shape[1]]
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.head(self.transformer(source, queries, tgt_mask=mask))


def patch_trg(trg):
    return trg[:, :-1], trg[:, 1:].contiguous().view(-1)


model = Seq2Seq()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.9, 0.98), eps=1e-9)
for step in range(220):
    source, target = dates(64)
    trg_seq, gold = patch_trg(target)
    pred = model(source, trg_seq).view(-1, VOCAB)
    loss = F.cross_entropy(pred, gold)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 44 == 43:
        right = (pred.argmax(1) == gold).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.4f} signs right {right:.3f}")
with torch.no_grad():
    source, target = dates(100)
    written = torch.full((100, 1), BOS)
    for _ in range(7):
        best = model(source, written)[:, -1].argmax(1, keepdim=True)
        written = torch.cat([written, best], 1)
print(f"dates written without help {(written == target).all(1).float().mean().item():.3f}")
