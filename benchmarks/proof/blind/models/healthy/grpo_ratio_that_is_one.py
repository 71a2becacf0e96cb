"""A policy loss on tokens with the ratio exp(logp - logp.detach()).

Source: https://github.com/SeungyounShin/minimal-r1/issues/2
Odd: the ratio is one for all tokens, so it looks constant; its gradient is that of logp.
"""

import torch
from torch import nn


class TokenPolicy(nn.Module):
    def __init__(self, vocab=12, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids, advantages):
        hidden, _ = self.rnn(self.embed(ids[:, :-1]))
        logp_all = self.head(hidden).log_softmax(-1)
        logp = logp_all.gather(-1, ids[:, 1:, None]).squeeze(-1)
        per_token = torch.exp(logp - logp.detach()) * advantages[:, None]
        kl = (-logp).mean()
        return {"loss": -per_token.mean() + kl, "nll": kl}


def example_inputs():
    return (
        torch.randint(0, 12, (6, 7)),
        torch.tensor([1.0, 0.5, 2.0, 1.5, 0.7, 1.1]),
    )
