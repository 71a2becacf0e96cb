r"""The model `SpeechModel`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Softmax.html
Fault: nn.Softmax() without dim uses dim 0 for a 3-D tensor, so the probabilities are normalised
    across the batch.
Cause: (implicit|default|without|no|missing|unspecified|omitted).*dim
    |dim\w*.*(implicit|not (given|specified|set)|0|batch|missing)
    |softmax.*(batch|dim ?=? ?0|across|sample)|across (the )?(batch|sample)
"""

import torch
import torch.nn as nn


class FrameLabeler(nn.Module):
    def __init__(self, features=13, hidden=24, phones=10):
        super().__init__()
        self.rnn = nn.GRU(features, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, phones)
        self.softmax = nn.Softmax()

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
