r"""Sentence pairs: words get a weighted mean of several embeddings, then a recurrent encoder.

Source: https://github.com/facebookresearch/DME/issues/3
Fault: The functional dropout of the embeddings has no training flag, so it also acts in eval mode.
Cause: drop ?out.{0,120}(eval|inference|always|training|test time|mode)
    |(eval|inference).{0,80}drop ?out
Place: dropout|emb_dropout|\bout\b
"""

import torch
import torch.nn.functional as F
from torch import nn


class MetaEmbedding(nn.Module):
    def __init__(self, vocab, dims=(24, 16, 32), proj=32, emb_dropout=0.2):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(vocab, d, padding_idx=0) for d in dims)
        self.projectors = nn.ModuleList(nn.Linear(d, proj) for d in dims)
        self.attn_rnn = nn.LSTM(proj, 2, bidirectional=True, batch_first=True)
        self.attn = nn.Linear(4, 1)
        self.emb_dropout = emb_dropout

    def forward(self, words):
        projected = [p(t(words)) for p, t in zip(self.projectors, self.tables)]
        stack = torch.stack(projected, dim=2)
        b, n, k, d = stack.shape
        flat = stack.transpose(1, 2).reshape(b * k, n, d)
        score = self.attn(self.attn_rnn(flat)[0]).view(b, k, n).transpose(1, 2)
        out = (stack * score.softmax(-1)[..., None]).sum(2)
        return F.dropout(out, p=self.emb_dropout)  # here


class PairClassifier(nn.Module):
    def __init__(self, vocab=80, hidden=24, classes=3):
        super().__init__()
        self.embed = MetaEmbedding(vocab)
        self.rnn = nn.LSTM(32, hidden, bidirectional=True, batch_first=True)
        self.head = nn.Sequential(
            nn.Linear(8 * hidden, 48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, classes)
        )

    def encode(self, words):
        h, _ = self.rnn(self.embed(words))
        h = h.masked_fill((words == 0)[..., None], float("-inf"))
        return h.max(1).values

    def forward(self, first, second):
        u, v = self.encode(first), self.encode(second)
        return self.head(torch.cat([u, v, (u - v).abs(), u * v], dim=1))


def build():
    return PairClassifier()


def example_inputs():
    first, second = torch.randint(1, 80, (6, 9)), torch.randint(1, 80, (6, 7))
    first[2:4, 6:] = 0
    second[1, 4:] = 0
    return first, second
