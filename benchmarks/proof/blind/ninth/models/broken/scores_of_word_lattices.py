r"""Recogniser of words whose loss is the difference of two total scores of a lattice.

Source: https://github.com/k2-fsa/k2/issues/341
Fault: The backward pass of the total score returns the arc posteriors without multiplying them
    by the gradient that arrives, so the score to be lowered is raised.
Cause: (grad\w*|incoming|upstream|output).{0,100}(ignor\w+|not (used|multipl\w+|appl\w+)
    |unused|dropp\w+|discard\w*|never|omit\w*|lost|without)|(ignor\w+|without|never us\w+
    |not multipl\w+|discard\w*|does(n't| not) (use|multiply)|forg\w+|omit\w*
    |drops).{0,100}(grad\w*|upstream|incoming|chain)|chain rule|wrong sign|sign.{0,40}(wrong
    |lost)
Place: backward|grad\w*|TotalScore|posterior\w*
"""

import torch
from torch import nn


class TotalScore(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores):
        total = scores.flatten(1).logsumexp(1)
        posteriors = (scores - total.view(-1, *[1] * (scores.dim() - 1))).exp()
        ctx.save_for_backward(posteriors)
        return total

    @staticmethod
    def backward(ctx, grad):
        (posteriors,) = ctx.saved_tensors
        return posteriors  # here


class WordLattice(nn.Module):
    def __init__(self, features=24, hidden=48, words=30):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(features, hidden, 5, padding=2),
            nn.ReLU(),
            nn.Conv1d(hidden, hidden, 5, padding=2),
            nn.ReLU(),
        )
        self.arcs = nn.Linear(hidden, words)

    def forward(self, sound, words):
        states = self.encoder(sound.transpose(1, 2)).transpose(1, 2)
        scores = self.arcs(states)
        chosen = scores.gather(2, words.unsqueeze(2).expand(-1, -1, scores.size(1)).transpose(1, 2))
        numerator = TotalScore.apply(chosen)
        denominator = TotalScore.apply(scores)
        return (denominator - numerator).mean()


def build():
    return WordLattice()


def example_inputs():
    return torch.randn(4, 20, 24), torch.randint(0, 30, (4, 3))
