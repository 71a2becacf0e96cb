r"""Convolutional classifier of surnames by nationality.

Source: https://github.com/delip/PyTorchNLPBook/issues/28
Fault: The functional dropout gets no training flag and so drops features in evaluation as well.
Cause: dropout|eval\w* .*(random|differ|stochastic)|random\w* .*eval|self\.training|training flag
Place: \bF\.dropout\b
"""

import torch
from torch import nn
from torch.nn import functional as F


class SurnameClassifier(nn.Module):
    def __init__(self, vocab=40, classes=18, channels=32, dropout_p=0.1):
        super().__init__()
        self.convnet = nn.Sequential(
            nn.Conv1d(vocab, channels, kernel_size=3),
            nn.ELU(),
            nn.Conv1d(channels, channels, kernel_size=3, stride=2),
            nn.ELU(),
            nn.Conv1d(channels, channels, kernel_size=3),
            nn.ELU(),
        )
        self.fc1 = nn.Linear(channels, channels)
        self.fc2 = nn.Linear(channels, classes)
        self._dropout_p = dropout_p

    def forward(self, x_surname, apply_softmax=False):
        features = self.convnet(x_surname)
        features = F.avg_pool1d(features, features.size(2)).squeeze(dim=2)
        features = F.dropout(features, p=self._dropout_p)  # here
        intermediate = F.relu(F.dropout(self.fc1(features), p=self._dropout_p))  # here
        prediction = self.fc2(intermediate)
        return F.softmax(prediction, dim=1) if apply_softmax else prediction


def build():
    return SurnameClassifier()


def example_inputs():
    letters = torch.randint(0, 40, (12, 17))
    return F.one_hot(letters, 40).float().transpose(1, 2)
