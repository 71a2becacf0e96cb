"""A tagger with a linear-chain CRF.

Source: https://github.com/facebookresearch/pytext/pull/497
Odd: the transitions are used in the loss only, not for the emissions.
"""

import torch
from torch import nn


class CRFTagger(nn.Module):
    def __init__(self, vocab=15, dim=12, tags=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.emit = nn.Linear(dim, tags)
        self.transitions = nn.Parameter(torch.zeros(tags, tags))

    def forward(self, words, tags):
        emissions = self.emit(self.embed(words))
        gold = emissions.gather(2, tags.unsqueeze(-1)).squeeze(-1).sum(1)
        gold = gold + self.transitions[tags[:, :-1], tags[:, 1:]].sum(1)
        alpha = emissions[:, 0]
        for t in range(1, words.size(1)):
            alpha = (alpha.unsqueeze(2) + self.transitions).logsumexp(1) + emissions[:, t]
        return {"loss": (alpha.logsumexp(1) - gold).mean(), "emissions": emissions}


def example_inputs():
    return (
        torch.randint(0, 15, (4, 6)),
        torch.randint(0, 4, (4, 6)),
    )
