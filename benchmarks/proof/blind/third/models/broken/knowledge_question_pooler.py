r"""Question encoder of a knowledge-graph QA model that pools BiLSTM states with attention.

Source: https://github.com/DEEP-PolyU/KEQA_WSDM19/issues/2
Fault: The softmax is taken over the last axis, which has one element, so every weight is 1.
Cause: softmax.*(size[- ]1|one element|single|length 1|constant|always (1|one))|no gradient
    |zero grad
Place: attn|attention|softmax|forward|QuestionPooler
"""

import torch
import torch.nn.functional as F
from torch import nn


class QuestionPooler(nn.Module):
    def __init__(self, vocab=60, dim=16, hidden=12, out=20):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, hidden, bidirectional=True, batch_first=True)
        self.attn = nn.Linear(2 * hidden + dim, 1)
        self.project = nn.Linear(2 * hidden, out)

    def forward(self, question):
        x = self.embed(question)
        states, _ = self.lstm(x)
        weights = F.softmax(self.attn(torch.cat([x, states], dim=-1)), dim=-1)  # here
        return self.project((weights * states).sum(dim=1))


def build():
    return QuestionPooler()


def example_inputs():
    return torch.randint(0, 60, (5, 9))
