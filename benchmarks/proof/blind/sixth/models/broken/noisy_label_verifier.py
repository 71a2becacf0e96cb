r"""Network which compares a picture with the prototype of its class to find wrong labels.

Source: https://github.com/kuanghuei/clean-net/issues/2
Fault: What comes out of the dropout is not used: the second layer gets its input.
Cause: drop ?out.{0,80}(not|never|unused|ignor|lost|discard|no effect|no influence|nothing)
    |(unused|never used|discard|ignored|no effect|no influence).{0,80}drop ?out
Place: dropout|\bdrop\b
"""

import torch
import torch.nn.functional as F
from torch import nn


class ClassEncoder(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.attend = nn.Linear(dim, 1)
        self.fc = nn.Linear(dim, hidden)

    def forward(self, reference_set):
        weights = F.softmax(self.attend(torch.tanh(reference_set)), dim=1)
        return torch.tanh(self.fc((weights * reference_set).sum(1)))


class QueryEncoder(nn.Module):
    def __init__(self, dim, hidden, rate):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.dropout = nn.Dropout(rate)
        self.fc2 = nn.Linear(hidden, hidden)

    def forward(self, query):
        h0 = torch.tanh(self.fc1(query))
        h = self.dropout(h0)
        h = torch.tanh(self.fc2(h0))  # here
        return F.normalize(h, dim=-1)


class CleanNet(nn.Module):
    def __init__(self, dim=40, hidden=32, rate=0.2):
        super().__init__()
        self.reference = ClassEncoder(dim, hidden)
        self.query = QueryEncoder(dim, hidden, rate)

    def forward(self, query, reference_set):
        return F.cosine_similarity(self.query(query), self.reference(reference_set), dim=-1)


def build():
    return CleanNet()


def example_inputs():
    return {"query": torch.randn(16, 40), "reference_set": torch.randn(16, 10, 40)}
