r"""A pretrained sentence encoder is frozen and adapted to a new task with small bottleneck
adapters.

Source: https://github.com/adapter-hub/adapters/issues/260
Fault: the optimizer is built from the trainable parameters before add_adapter creates the adapters;
    the adapters are not in the optimizer and stay as initialised, only the head is trained.
Cause: adapter\w*\b.*(optimi[sz]er|param(eter)?_?groups?|stepped|not updated|never updated
    |unchanged|as (they were )?initiali|added (after|later)|created (after|later)|left out
    |not included)
    |(optimi[sz]er|adamw?|param(eter)?_?groups?)\b.*(before|prior|earlier|does not|doesn't
    |misses|lacks|without|not (in|contain|know|hold|see|includ))\b
    |(before|after)\b.*(optimi[sz]er|adapter)
    |\b(not|never|missing|absent|no|none)\b.*\b(in|from|by|to|held by|given to|passed to
    |known to) (the|any|an|no)? ?optimi
Place: optimizer|add_adapter|adapter\w*|down|up|configure_optimizer
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)

VOCAB, SEQ, DIM = 60, 12, 32


def topic_data(n):
    """which of 3 groups of words dominates the sentence"""
    y = torch.randint(0, 3, (n,))
    x = torch.randint(0, VOCAB, (n, SEQ))
    for i in range(n):
        pos = torch.randperm(SEQ)[:6]
        x[i, pos] = torch.randint(0, 20, (6,)) + 20 * y[i]
    return TensorDataset(x, y)


def polite_data(n):
    """every other word of the vocabulary is a polite one; are most of the words polite"""
    y = torch.randint(0, 2, (n,))
    x = 2 * torch.randint(0, VOCAB // 2, (n, SEQ)) + 1
    for i in range(n):
        k = 8 if y[i] == 1 else 4
        pos = torch.randperm(SEQ)[:k]
        x[i, pos] = x[i, pos] - 1
    return TensorDataset(x, y)


class Adapter(nn.Module):
    def __init__(self, dim, reduction_factor=2):
        super().__init__()
        self.down = nn.Linear(dim, dim // reduction_factor)
        self.up = nn.Linear(dim // reduction_factor, dim)
        nn.init.normal_(self.up.weight, std=1e-3)
        nn.init.zeros_(self.up.bias)

    def forward(self, h):
        return h + self.up(F.relu(self.down(h)))


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.norm1 = nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.norm2 = nn.LayerNorm(dim)
        self.adapters = nn.ModuleDict()
        self.active = None

    def forward(self, h):
        a, _ = self.attn(h, h, h, need_weights=False)
        if self.active is not None:
            a = self.adapters[self.active + '_attn'](a)
        h = self.norm1(h + a)
        f = self.ff(h)
        if self.active is not None:
            f = self.adapters[self.active](f)
        return self.norm2(h + f)


class Encoder(nn.Module):
    def __init__(self, n_layers=2):
        super().__init__()
        self.word = nn.Embedding(VOCAB, DIM)
        self.pos = nn.Embedding(SEQ, DIM)
        self.layers = nn.ModuleList([Layer(DIM) for _ in range(n_layers)])
        self.heads = nn.ModuleDict()

    def add_classification_head(self, name, num_labels):
        self.heads[name] = nn.Linear(DIM, num_labels)

    def add_adapter(self, name):
        for layer in self.layers:
            layer.adapters[name] = Adapter(DIM)
            layer.adapters[name + '_attn'] = Adapter(DIM)

    def train_adapter(self, name):
        for n, p in self.named_parameters():
            p.requires_grad = ('adapters.%s' % name in n) or ('heads.%s' % name in n)
        for layer in self.layers:
            layer.active = name

    def forward(self, x, task):
        h = self.word(x) + self.pos(torch.arange(x.size(1)))
        for layer in self.layers:
            h = layer(h)
        return self.heads[task](h.mean(1))


def run_epoch(model, loader, task, optimizer=None):
    model.train(optimizer is not None)
    total, right, n = 0.0, 0, 0
    for x, y in loader:
        logits = model(x, task)
        loss = F.cross_entropy(logits, y)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item() * len(y)
        right += (logits.argmax(1) == y).sum().item()
        n += len(y)
    return total / n, right / n


def main():
    model = Encoder()
    model.add_classification_head('topic', 3)
    pre = DataLoader(topic_data(1200), batch_size=64, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(3):
        print('pretrain %d loss %.3f acc %.3f' % ((epoch,) + run_epoch(model, pre, 'topic',
                                                                       optimizer)))

    train_loader = DataLoader(polite_data(1600), batch_size=64, shuffle=True)
    valid_loader = DataLoader(polite_data(400), batch_size=200)

    model.add_classification_head('polite', 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)  # here
    model.add_adapter('polite')
    model.train_adapter('polite')

    for epoch in range(8):
        tr = run_epoch(model, train_loader, 'polite', optimizer)
        va = run_epoch(model, valid_loader, 'polite')
        print('epoch %d train loss %.3f acc %.3f | valid loss %.3f acc %.3f' % ((epoch,) + tr + va))


if __name__ == '__main__':
    main()
