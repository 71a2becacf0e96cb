r"""Tuning of a few vectors in front of the input of a frozen language model.

Source: https://github.com/kipgparker/soft-prompt-tuning
Odd: The whole model is frozen after its own training; the optimizer then gets one small tensor.
"""

import torch
from torch import nn
from torch.nn import functional as F


class TinyLM(nn.Module):
    def __init__(self, vocab=20, dim=48):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, embeds):
        return self.lm_head(self.rnn(embeds)[0])


class SoftEmbedding(nn.Module):
    def __init__(self, wte, n_tokens=4):
        super().__init__()
        self.wte = wte
        self.n_tokens = n_tokens
        self.learned_embedding = nn.Parameter(wte.weight[:n_tokens].clone().detach())

    def forward(self, tokens):
        learned = self.learned_embedding.repeat(tokens.size(0), 1, 1)
        return torch.cat([learned, self.wte(tokens)], 1)


def counting(step, count=64):
    start = torch.randint(2, 20, (count, 1))
    return (start - 2 + step * torch.arange(8)) % 18 + 2


torch.manual_seed(0)
model = TinyLM()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(60):
    way = torch.randint(0, 2, (64, 1))
    tokens = torch.cat([way, torch.where(way == 0, counting(1), counting(17))], dim=1)
    logits = model(model.wte(tokens[:, :-1]))[:, 1:]
    loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 2:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss of the language model {loss.item():.4f}")

model.requires_grad_(False)
prompt = SoftEmbedding(model.wte)
optimizer = torch.optim.Adam([prompt.learned_embedding], lr=0.05)
for step in range(40):
    tokens = counting(17)
    logits = model(prompt(tokens[:, :-1]))[:, prompt.n_tokens :]
    loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step in (0, 39):
        print(f"step {step} loss with the prompt {loss.item():.4f}")
