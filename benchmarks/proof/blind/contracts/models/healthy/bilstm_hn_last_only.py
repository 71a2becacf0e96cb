r"""The model `ReviewModel`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class ReviewModel(nn.Module):
    def __init__(self, vocab=300, emb=24, hidden=20):
        super().__init__()
        self.embed = nn.Embedding(vocab, emb)
        self.lstm = nn.LSTM(emb, hidden, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(0.1)
        self.fc1 = nn.Linear(2 * hidden, 16)
        self.fc2 = nn.Linear(16, 2)

    def forward(self, tokens):
        x = self.embed(tokens)
        _, (h_n, _) = self.lstm(x)
        h = torch.cat([h_n[-2], h_n[-1]], dim=1)
        h = torch.relu(self.fc1(self.drop(h)))
        return self.fc2(h)


torch.manual_seed(0)
model = ReviewModel()
example_inputs = (torch.randint(0, 300, (8, 15)),)
