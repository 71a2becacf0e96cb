r"""The model `DocumentModel`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Softmax.html
Fault: softmax is taken over the last dimension of size one of the attention scores, so every
    weight is 1 and the scorer gets no gradient.
Cause: softmax.*(single|one|size ?(of )?(1|one)|singleton|constant|always 1|wrong (axis|dim)|time|dim)
    |(weights?|attention).*(all|always|constant).*(1|one)|singleton
    |(score|attention|attn).*(no|zero) gradient|no gradient|zero gradient
    |gradient\w* (is|are|of|stays?)( exactly)? (none|zero|0)
    |(never|not) (gets?|receiv\w+) (a |any )?gradient|gets no grad
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(dim, 16), nn.Tanh(), nn.Linear(16, 1, bias=False))

    def forward(self, h):
        w = F.softmax(self.score(h), dim=-1)
        return (w * h).sum(dim=1)


class DocumentModel(nn.Module):
    def __init__(self, vocab=200, dim=24, hidden=20, classes=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, hidden, batch_first=True, bidirectional=True)
        self.pool = AttentionPool(2 * hidden)
        self.head = nn.Linear(2 * hidden, classes)

    def forward(self, tokens):
        h, _ = self.rnn(self.embed(tokens))
        return self.head(self.pool(h))


torch.manual_seed(0)
model = DocumentModel()
example_inputs = (torch.randint(0, 200, (6, 15)),)
