"""The prenet of Tacotron 2.

Source: https://github.com/BogiHsu/Tacotron2-PyTorch/issues/8
Odd: dropout is on with training=True in eval mode too, as the paper wants variety at inference.
"""

import torch
import torch.nn.functional as F
from torch import nn


class PrenetDecoder(nn.Module):
    def __init__(self, n_mels=8, dim=32):
        super().__init__()
        self.fc1 = nn.Linear(n_mels, dim)
        self.fc2 = nn.Linear(dim, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.mel = nn.Linear(dim, n_mels)

    def prenet(self, x):
        x = F.dropout(F.relu(self.fc1(x)), p=0.5, training=True)
        return F.dropout(F.relu(self.fc2(x)), p=0.5, training=True)

    def forward(self, mels):
        prev = F.pad(mels[:, :-1], (0, 0, 1, 0))
        h, _ = self.rnn(self.prenet(prev))
        pred = self.mel(h)
        return {"loss": F.l1_loss(pred, mels), "mels": pred}


def example_inputs():
    return (torch.randn(4, 10, 8),)
