r"""Next point of a pen on paper as a mixture of normal laws, from an LSTM over the points so far.

Source: https://github.com/ctallec/world-models/issues/10
Fault: the log-softmax of the mixture weights runs over the time axis, not over the parts of the
    mixture, so the weights of a point do not sum to one and depend on other (later) points.
Cause: softmax.{0,120}(time|axis|dim|sequence|steps?|wrong|component|mixture|parts|last)
    |(mixture|component)?.{0,30}weights?.{0,60}(not|never).{0,20}(sum|add up)
    |normali[sz].{0,80}(time|sequence|steps?|wrong (axis|dim))
Place: log_share|softmax|share|weights|to_share
"""
import torch
import torch.nn as nn
from torch.distributions import Normal

POINTS, PARTS = 20, 4


class PenModel(nn.Module):
    def __init__(self, hidden=48, parts=PARTS):
        super().__init__()
        self.parts = parts
        self.lstm = nn.LSTM(2, hidden, batch_first=True)
        self.to_share = nn.Linear(hidden, parts)
        self.to_centre = nn.Linear(hidden, 2 * parts)
        self.to_width = nn.Linear(hidden, 2 * parts)
        self.share = nn.LogSoftmax(dim=1)  # here

    def forward(self, points):
        states, _ = self.lstm(points[:, :-1])
        shape = (*states.shape[:2], self.parts, 2)
        log_share = self.share(self.to_share(states))
        centre = self.to_centre(states).view(shape)
        width = self.to_width(states).view(shape).clamp(-5, 3).exp()
        following = points[:, 1:].unsqueeze(2)
        log_part = Normal(centre, width).log_prob(following).sum(-1)
        return -torch.logsumexp(log_share + log_part, dim=-1).mean()


def make_strokes(n, seed):
    g = torch.Generator().manual_seed(seed)
    turn = torch.where(torch.rand(n, POINTS, generator=g) < 0.5, 0.6, -0.3)
    angle = turn.cumsum(1) + 6.28 * torch.rand(n, 1, generator=g)
    step = torch.stack([angle.cos(), angle.sin()], dim=-1)
    return step + 0.05 * torch.randn(n, POINTS, 2, generator=g)


def build():
    torch.manual_seed(0)
    return PenModel()


def example_inputs():
    return (make_strokes(48, seed=60),)
