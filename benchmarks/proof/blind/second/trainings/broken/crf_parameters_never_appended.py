r"""Trains a tagger: an encoder, a classifier and the transitions between tags.

Source: https://github.com/zjunlp/HVPNeT/issues/5
Fault: the group of the classifier and of the transitions is built but never appended to the list,
    so the optimiser does not know it and these stay at their first values.
Cause:
    (not|never|miss\w*|outside)\b.*optimi[sz]er|optimi[sz]er\b.*\b(not|never|miss\w*)|append|(not|never)
    (updated|trained)|unchanged
Place: \bfc\b|transitions|\bcrf\b
"""

import torch
from torch import nn

torch.manual_seed(3)


class Tagger(nn.Module):
    def __init__(self, vocab=50, dim=24, tags=5):
        super().__init__()
        self.bert = nn.Embedding(vocab, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * dim, tags)
        self.transitions = nn.Parameter(torch.randn(tags, tags) * 0.1)

    def forward(self, words, tags):
        hidden, _ = self.encoder(self.bert(words))
        emissions = self.fc(hidden)
        gold = emissions.gather(2, tags[..., None]).squeeze(2).sum(1)
        gold = gold + self.transitions[tags[:, :-1], tags[:, 1:]].sum(1)
        alpha = emissions[:, 0]
        for t in range(1, words.size(1)):
            alpha = torch.logsumexp(alpha[:, :, None] + self.transitions, 1) + emissions[:, t]
        return (torch.logsumexp(alpha, 1) - gold).mean()


def build_optimizer(model, lr):
    parameters = []
    params = {"lr": lr, "weight_decay": 1e-2, "params": []}
    for name, param in model.named_parameters():
        if "bert" in name or "encoder" in name:
            params["params"].append(param)
    parameters.append(params)

    params = {"lr": 5e-2, "weight_decay": 1e-2, "params": []}
    for name, param in model.named_parameters():
        if "transitions" in name or name.startswith("fc"):
            params["params"].append(param)
    return torch.optim.AdamW(parameters)  # here


words = torch.randint(0, 50, (128, 10))
tags = (words // 10).clamp(max=4)
model = Tagger()
optimizer = build_optimizer(model, 3e-3)
for step in range(60):
    rows = torch.randint(0, 128, (32,))
    loss = model(words[rows], tags[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step} nll {loss.item():.3f}")
