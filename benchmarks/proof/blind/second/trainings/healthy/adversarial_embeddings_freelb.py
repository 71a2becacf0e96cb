"""Trains a text classifier with several adversarial perturbations of the embeddings per step.

Source: https://github.com/zhuchen03/FreeLB/issues/18
Odd: the perturbation and its gradient are detached again and again, and backward is called K times
    before one step; the gradients of the K losses accumulate, each divided by K.
"""

import torch
from torch import nn

torch.manual_seed(17)
ADV_STEPS, ADV_LR, ADV_INIT, ADV_MAX = 3, 0.1, 0.05, 0.3


class Classifier(nn.Module):
    def __init__(self, vocab=60, dim=16):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, 24, batch_first=True)
        self.out = nn.Linear(24, 2)

    def forward(self, inputs_embeds):
        return self.out(self.rnn(inputs_embeds)[1][0])


ids = torch.randint(0, 60, (256, 8))
labels = ((ids < 20).sum(1) > (ids >= 40).sum(1)).long()
model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(60):
    rows = torch.randint(0, 256, (32,))
    delta = torch.zeros(32, 8, 16).uniform_(-1, 1) * ADV_INIT / 128**0.5
    total = 0.0
    for astep in range(ADV_STEPS):
        delta.requires_grad_()
        logits = model(model.word_embeddings(ids[rows]) + delta)
        loss = nn.functional.cross_entropy(logits, labels[rows]) / ADV_STEPS
        loss.backward()
        total += loss.item()
        if astep == ADV_STEPS - 1:
            break
        delta_grad = delta.grad.clone().detach()
        denorm = delta_grad.flatten(1).norm(dim=1).clamp(min=1e-8)[:, None, None]
        delta = (delta + ADV_LR * delta_grad / denorm).detach()
        delta_norm = delta.flatten(1).norm(dim=1)[:, None, None]
        delta = (delta * (ADV_MAX / delta_norm).clamp(max=1.0)).detach()
    optimizer.step()
    optimizer.zero_grad()
    if step % 10 == 0 or step == 59:
        print(f"step {step} loss {total:.4f}")
