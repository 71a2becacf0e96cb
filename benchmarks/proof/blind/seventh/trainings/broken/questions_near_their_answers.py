r"""Vectors of questions are drawn near those of their answers, with other answers as negatives.

Source: https://github.com/RElbers/info-nce-pytorch/pull/17
Fault: The logits of the negatives are divided by the temperature and those of the positives are
    not.
Cause: temperature.{0,100}(only|not|miss|n't|negativ|positiv|one|both|each)
    |(positiv|negativ)\w*.{0,100}(temperature|scale|divid)
    |(scale|divid)\w*.{0,60}(differ|positiv|negativ)
Place: temperature|positive|info_nce|logit
"""

import torch
import torch.nn.functional as F
from torch import nn


def info_nce(query, positive_key, negative_keys, temperature=0.1):
    query, positive_key = F.normalize(query, dim=-1), F.normalize(positive_key, dim=-1)
    negative_keys = F.normalize(negative_keys, dim=-1)
    positive = (query * positive_key).sum(dim=-1)  # here
    negatives = query @ negative_keys.t() / temperature
    every = torch.logsumexp(torch.cat([positive[:, None], negatives], dim=1), dim=1)
    return (every - positive).mean()


class Tower(nn.Module):
    def __init__(self, inputs, width=64, outputs=16):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(inputs, width), nn.GELU(), nn.Linear(width, outputs))

    def forward(self, x):
        return self.layers(x)


class Pairs:
    def __init__(self, topics=8):
        self.ask, self.answer = torch.randn(topics, 30), torch.randn(topics, 30)

    def draw(self, count):
        meaning = torch.randn(count, 8)
        question = torch.tanh(meaning @ self.ask) + 0.5 * torch.randn(count, 30)
        answer = torch.tanh(meaning @ self.answer) + 0.5 * torch.randn(count, 30)
        return question, answer


def hits(questions, answers, left, right):
    a, b = F.normalize(left(questions), dim=1), F.normalize(right(answers), dim=1)
    return ((a @ b.t()).argmax(1) == torch.arange(len(a))).float().mean().item()


def main():
    torch.manual_seed(31)
    pairs = Pairs()
    test = pairs.draw(256)
    left, right = Tower(30), Tower(30)
    parameters = [*left.parameters(), *right.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=2e-3)
    for step in range(240):
        question, answer = pairs.draw(64)
        _, others = pairs.draw(128)
        loss = info_nce(left(question), right(answer), right(others))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 39:
            with torch.no_grad():
                score = hits(*test, left, right)
            print(f"step {step + 1} loss {loss.item():.3f} found among 256: {score:.3f}")


main()
