r"""Mood of a review: a two-way recurrent net whose final state weighs the words.

Source: https://github.com/graykode/nlp-tutorial/issues/68
Fault: The final state (directions, batch, hidden) is viewed as (batch, ..., 1) without moving the
    batch to the front, so the states of different reviews are joined.
Cause: (final_state|final_hidden|hidden|h_n|state).{0,120}(\bview|reshap|transpos|permut|mix
    |wrong|another|other)
    |(\bview\w*|reshap\w*).{0,100}(batch|sample|direction|mix|transpos|permut|scrambl)
Place: final_state|\bhidden\b|\bview\b|h_n
"""

import torch
from torch import nn


class ReviewMood(nn.Module):
    def __init__(self, vocab=120, dim=24, hidden=20, classes=2):
        super().__init__()
        self.hidden = hidden
        self.embedding = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, hidden, bidirectional=True)
        self.dropout = nn.Dropout(0.2)
        self.out = nn.Linear(2 * hidden, classes)

    def attention_net(self, output, final_state):
        hidden = final_state.view(-1, 2 * self.hidden, 1)  # here
        weights = torch.bmm(output, hidden).squeeze(2)
        soft = torch.softmax(weights, dim=1)
        context = torch.bmm(output.transpose(1, 2), soft.unsqueeze(2)).squeeze(2)
        return context, soft

    def forward(self, words):
        x = self.dropout(self.embedding(words)).permute(1, 0, 2)
        output, (final_hidden, _) = self.lstm(x)
        output = output.permute(1, 0, 2)
        context, attention = self.attention_net(output, final_hidden)
        return self.out(context), attention


def build():
    return ReviewMood()


def example_inputs():
    return (torch.randint(0, 120, (6, 10)),)
