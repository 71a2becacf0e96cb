r"""Decodes short formulas from features; targets are padded with zeros to a fixed length.

Source: https://github.com/lukas-blecher/LaTeX-OCR/issues/305
    https://github.com/lucidrains/DALLE-pytorch/issues/57
Fault: The padding id is 0, but the loss ignores only -100; most of the loss is padding, so it looks
    low while the real tokens are learned slowly.
Cause: pad|ignore_index
Place: ignore_index|AutoregressiveWrapper|cross_entropy
"""

import torch
import torch.nn.functional as F
from torch import nn


class AutoregressiveWrapper(nn.Module):
    def __init__(self, net, ignore_index=-100, pad_value=0):  # here
        super().__init__()
        self.net, self.ignore_index, self.pad_value = net, ignore_index, pad_value

    def forward(self, x, context):
        xi, xo = x[:, :-1], x[:, 1:]
        out = self.net(xi, context)
        loss = F.cross_entropy(out.transpose(1, 2), xo, ignore_index=self.ignore_index)
        real = xo != self.pad_value
        return loss, (out.argmax(-1) == xo)[real].float().mean()


class Decoder(nn.Module):
    def __init__(self, vocab=24, dim=32):
        super().__init__()
        self.token_emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.to_logits = nn.Linear(dim, vocab)
        self.context = nn.Linear(12, dim)

    def forward(self, x, context):
        h0 = torch.tanh(self.context(context)).unsqueeze(0)
        return self.to_logits(self.rnn(self.token_emb(x), h0)[0])


def batch(n=32, length=40):
    kind = torch.randint(0, 12, (n,))
    seq = torch.zeros(n, length, dtype=torch.long)
    seq[:, 0] = 1
    seq[:, 1] = 2 + kind
    seq[:, 2] = 2 + (kind * 5 + 3) % 20
    seq[:, 3] = 23
    return seq, F.one_hot(kind, 12).float() + 0.2 * torch.randn(n, 12)


torch.manual_seed(0)
model = AutoregressiveWrapper(Decoder(), pad_value=0)
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for i in range(100):
    loss, acc = model(*batch())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 19:
        print(f"step {i} Loss: {loss.item():.4f} token accuracy {acc.item():.3f}")
