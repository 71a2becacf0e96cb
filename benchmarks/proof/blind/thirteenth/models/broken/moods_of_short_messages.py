r"""Mood of a short message from the last states of a GRU that reads it in both directions.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.GRU.html
Fault: the last states have the shape (directions, batch, hidden) and are viewed as (batch, -1)
    without moving the batch to the front, so a row holds states of two other messages.
Cause: (view|reshap).{0,120}(batch|mix|direction|transpos|permut|example|message|row|order)
    |(mix|confus|scrambl|jumbl).{0,80}(batch|examples?|messages?|rows?|samples?)
    |(transpos|permut|cat).{0,80}(before|missing|instead|h_n|last states?|direction)
    |(states?|rows?).{0,80}(other|different|two|wrong) (messages?|examples?|samples?|rows?)
Place: last|view|reshape|h_n|states
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

WORDS, LENGTH, MOODS = 80, 12, 4


class MoodReader(nn.Module):
    def __init__(self, dim=24, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(WORDS, dim)
        self.gru = nn.GRU(dim, hidden, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Sequential(
            nn.Linear(2 * hidden, 32), nn.ReLU(),
            nn.Linear(32, MOODS),
        )

    def forward(self, message, mood=None):
        _, last = self.gru(self.embed(message))
        last = last.view(message.size(0), -1)  # here
        scores = self.head(self.drop(last))
        if mood is None:
            return scores
        return F.cross_entropy(scores, mood)


def make_messages(n, seed):
    g = torch.Generator().manual_seed(seed)
    mood = torch.randint(0, MOODS, (n,), generator=g)
    own = mood.view(-1, 1) * 10 + torch.randint(0, 10, (n, LENGTH), generator=g)
    other = torch.randint(MOODS * 10, WORDS, (n, LENGTH), generator=g)
    message = torch.where(torch.rand(n, LENGTH, generator=g) < 0.4, own, other)
    return message, mood


def build():
    torch.manual_seed(0)
    return MoodReader()


def example_inputs():
    return make_messages(64, seed=38)
