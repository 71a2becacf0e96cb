r"""The model `SumEncoder`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Embedding.html
Fault: Re-initialising the whole embedding weight overwrites the zero row of padding_idx, which
    then stays non-zero and is never trained.
Cause: padding(_idx| row| vector| embedding| token)?.*(zero|overwrit|init|random|non-?zero)
    |(overwrit|re-?init|init)\w*.*(padding|row)|padding_idx
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SumEncoder(nn.Module):
    def __init__(self, vocab=150, dim=32, classes=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.fc1 = nn.Linear(dim, 24)
        self.fc2 = nn.Linear(24, classes)
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.normal_(self.embed.weight, std=0.1)
        nn.init.xavier_uniform_(self.fc1.weight)
        nn.init.xavier_uniform_(self.fc2.weight)

    def forward(self, tokens):
        count = (tokens != 0).sum(dim=1, keepdim=True).clamp(min=1)
        x = self.embed(tokens).sum(dim=1) / count
        return self.fc2(F.relu(self.fc1(x)))


def make_tokens(n=6, length=12):
    tokens = torch.randint(1, 150, (n, length))
    for i in range(n):
        tokens[i, 3 + i:] = 0
    return tokens


torch.manual_seed(0)
model = SumEncoder()
example_inputs = (make_tokens(),)
