r"""Guesses how a jury of critics would spread its votes over five grades for a wine.

Source: https://github.com/sebastian-hofstaetter/matchmaker/issues/18
Fault: KLDivLoss expects log-probabilities as its input but gets probabilities; the loss is then
    linear in them and is best when all the weight goes to the most frequent grade.
Cause: log[- _]?(probabilit|softmax|space)|\blog\b.{0,60}(input|predict|softmax|probabilit)
    |softmax.{0,80}(instead of|without|not|no|lacks?|missing|rather).{0,40}log
    |KL.{0,80}(probabilit|softmax|log)
Place: votes|softmax|criterion|KLDivLoss|guess
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

MEASURES, GRADES = 11, 5


class JuryModel(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(MEASURES, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU(),
            nn.Linear(hidden, GRADES),
        )
        self.criterion = nn.KLDivLoss(reduction="batchmean")

    def guess(self, measures):
        return F.softmax(self.net(measures), dim=-1)

    def forward(self, measures, votes):
        return self.criterion(self.guess(measures), votes)  # here


def make_wines(n, seed):
    g = torch.Generator().manual_seed(seed)
    measures = torch.randn(n, MEASURES, generator=g)
    quality = measures[:, 0] - 0.6 * measures[:, 3] + 0.3 * measures[:, 1] * measures[:, 2]
    grades = torch.linspace(-2, 2, GRADES)
    chance = torch.softmax(-(quality.view(-1, 1) - grades) ** 2 / 1.5, dim=-1)
    ballots = torch.multinomial(chance, 30, replacement=True, generator=g)
    votes = F.one_hot(ballots, GRADES).float().mean(1)
    return measures, votes


def build():
    torch.manual_seed(0)
    return JuryModel()


def example_inputs():
    return make_wines(128, seed=40)
