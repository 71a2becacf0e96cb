r"""Preferences between answers by a policy beside a fixed copy of its start.

Source: https://github.com/eric-mitchell/direct-preference-optimization/blob/main/trainers.py
Odd: The loss begins at exactly ln 2, since policy and reference are equal; the reference never
    moves and the rate is small with a warm-up.
"""

import copy

import torch
from torch import nn


class TinyLM(nn.Module):
    def __init__(self, vocab=30, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def log_prob(self, ids, prompt):
        logits = self.head(self.rnn(self.embed(ids))[0])[:, :-1].log_softmax(-1)
        each = logits.gather(2, ids[:, 1:, None]).squeeze(2)
        return each[:, prompt - 1 :].sum(1)


torch.manual_seed(0)
prompts = torch.randint(0, 30, (256, 4))
chosen = torch.cat([prompts, torch.randint(0, 15, (256, 5))], 1)
rejected = torch.cat([prompts, torch.randint(15, 30, (256, 5))], 1)
policy = TinyLM()
reference = copy.deepcopy(policy).eval().requires_grad_(False)
optimizer = torch.optim.RMSprop(policy.parameters(), lr=5e-4)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 10))
beta = 0.1
for step in range(50):
    index = torch.randint(0, 256, (32,))
    with torch.no_grad():
        ref = reference.log_prob(chosen[index], 4) - reference.log_prob(rejected[index], 4)
    pi = policy.log_prob(chosen[index], 4) - policy.log_prob(rejected[index], 4)
    loss = -nn.functional.logsigmoid(beta * (pi - ref)).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 10.0)
    optimizer.step()
    schedule.step()
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.4f}")
print(f"loss {loss.item():.4f}, preferred {(pi > ref).float().mean().item():.2f}")
