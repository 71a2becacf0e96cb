r"""The model `ReviewModel`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html
Fault: h_n[-1] of a bidirectional LSTM is only the backward direction; the forward final state is
    dropped.
Cause: (h_?n|hidden( state)?|final state).*(backward|revers|one direction|single direction|only|forward|direction)
    |(forward|one) direction.*(drop|ignor|unused|discard|never|no gradient|missing)
    |bidirectional.*(h_?n|concat|both|half)|zero gradient
    |gradient\w* (is|are|of|stays?)( exactly)? (none|zero|0)
    |(never|not) (gets?|receiv\w+) (a |any )?gradient|gets no grad|only the reverse direction
"""

import torch
import torch.nn as nn


class ReviewModel(nn.Module):
    def __init__(self, vocab=300, emb=24, hidden=20):
        super().__init__()
        self.embed = nn.Embedding(vocab, emb)
        self.lstm = nn.LSTM(emb, hidden, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(0.1)
        self.fc1 = nn.Linear(hidden, 16)
        self.fc2 = nn.Linear(16, 2)

    def forward(self, tokens):
        x = self.embed(tokens)
        _, (h_n, _) = self.lstm(x)
        h = h_n[-1]
        h = torch.relu(self.fc1(self.drop(h)))
        return self.fc2(h)


torch.manual_seed(0)
model = ReviewModel()
example_inputs = (torch.randint(0, 300, (8, 15)),)
