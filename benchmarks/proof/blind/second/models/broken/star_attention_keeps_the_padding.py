r"""A pooling attention over padded sentences.

Source: https://github.com/FudanNLP/fastNLP/issues/138
    https://github.com/lucidrains/halonet-pytorch/issues/4
Fault: the mask is one for real words, and masked_fill fills where it is true, so the real words are
    removed and only the padding is attended to.
Cause:
    invert|revers|opposite|flipped|mask\b.*\bwrong|wrong\b.*\bmask|attend\w*\b.*\bpadd|padd\w*\b.*\b(attend|kept)|~mask
Place: masked_fill|\bmask\b
"""

import torch
from torch import nn


class StarPooling(nn.Module):
    def __init__(self, dim, heads=2):
        super().__init__()
        self.heads = heads
        self.relay = nn.Parameter(torch.randn(1, dim) * 0.1)
        self.wk, self.wv = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.wo = nn.Linear(dim, dim)

    def forward(self, x, mask):
        b, n, d = x.shape
        q = self.relay.view(1, self.heads, 1, -1)
        k = self.wk(x).view(b, n, self.heads, -1).transpose(1, 2)
        v = self.wv(x).view(b, n, self.heads, -1).transpose(1, 2)
        scores = (q * k).sum(-1) / k.size(-1) ** 0.5
        scores = scores.masked_fill(mask[:, None, :], -1e9)  # here
        alpha = scores.softmax(-1)[..., None]
        return self.wo((alpha * v).sum(2).reshape(b, d))


class STSeqCls(nn.Module):
    def __init__(self, vocab=70, dim=32, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.encoder = nn.Conv1d(dim, dim, 3, padding=1)
        self.pool = StarPooling(dim)
        self.cls = nn.Linear(dim, classes)

    def forward(self, words):
        mask = words.ne(0)
        x = self.encoder(self.embed(words).transpose(1, 2)).relu().transpose(1, 2)
        return self.cls(self.pool(x, mask))


def build():
    return STSeqCls()


def example_inputs():
    words = torch.randint(1, 70, (5, 14))
    for row, length in enumerate((12, 9, 5, 10, 7)):
        words[row, length:] = 0
    return (words,)
