r"""The tone of a sentence from two tables of vectors that are mixed word by word.

Source: https://github.com/facebookresearch/DME/issues/3
Fault: The functional dropout is always on, also in evaluation, as it is not told the mode.
Cause: dropout.{0,120}(eval|infer|test|always|training=|mode|self\.training|on\b|valid|functional)
    |(eval|infer|test|valid)\w*.{0,80}dropout
    |(eval|predict|output)\w*.{0,60}(random|differ|not determin|noisy|stochastic)
Place: dropout
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(54)
WORDS, LENGTH = 300, 12


class Mixed(nn.Module):
    def __init__(self, tables, emb_dropout=0.5, proj=32):
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding.from_pretrained(t) for t in tables])
        self.project = nn.ModuleList([nn.Linear(t.size(1), proj) for t in tables])
        self.gate = nn.Linear(proj, 1)
        self.emb_dropout = emb_dropout

    def forward(self, ids):
        parts = torch.stack([p(t(ids)) for p, t in zip(self.project, self.tables)], dim=2)
        weights = self.gate(parts).softmax(dim=2)
        out = (weights * parts).sum(dim=2)
        return F.dropout(out, p=self.emb_dropout)  # here


class Classifier(nn.Module):
    def __init__(self, tables):
        super().__init__()
        self.embedder = Mixed(tables)
        self.rnn = nn.GRU(32, 32, batch_first=True)
        self.out = nn.Linear(32, 2)

    def forward(self, ids):
        states, _ = self.rnn(self.embedder(ids))
        return self.out(states.max(dim=1).values)


tone = torch.randn(WORDS)
meaning = torch.randn(WORDS, 10)
tables = [
    torch.cat([meaning, tone[:, None] * (torch.arange(WORDS) % 2)[:, None]], 1),
    torch.cat([tone[:, None] * (torch.arange(WORDS) % 2 == 0)[:, None], meaning], 1),
]


def sentences(count):
    ids = torch.randint(0, WORDS, (count, LENGTH))
    return ids, (tone[ids].sum(1) > 0).long()


def evaluate(model, batch):
    model.eval()
    with torch.no_grad():
        logits = model(batch[0])
    loss = F.cross_entropy(logits, batch[1]).item()
    return loss, (logits.argmax(1) == batch[1]).float().mean().item()


dev = sentences(600)
model = Classifier(tables)
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=5e-3)
for step in range(200):
    model.train()
    ids, label = sentences(64)
    loss = F.cross_entropy(model(ids), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        dev_loss, dev_accuracy = evaluate(model, dev)
        print(f"{step + 1} train {loss.item():.3f} dev {dev_loss:.3f} accuracy {dev_accuracy:.3f}")
