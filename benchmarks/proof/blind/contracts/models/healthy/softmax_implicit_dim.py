r"""The model `SpeechModel`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Softmax.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class FrameLabeler(nn.Module):
    def __init__(self, features=13, hidden=24, phones=10):
        super().__init__()
        self.rnn = nn.GRU(features, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, phones)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x):
        h, _ = self.rnn(x)
        logits = self.fc(torch.tanh(h))
        return self.softmax(logits)


class SpeechModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(13)
        self.labeler = FrameLabeler()

    def forward(self, x):
        return self.labeler(self.norm(x))


torch.manual_seed(0)
model = SpeechModel()
example_inputs = (torch.randn(5, 20, 13),)
