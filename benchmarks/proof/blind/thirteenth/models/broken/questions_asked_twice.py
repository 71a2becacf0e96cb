r"""Finds questions that ask the same thing, by the cosine of two encoded questions.

Source: https://github.com/pytorch/pytorch/issues/23782
Fault: CosineEmbeddingLoss wants 1 for equal and -1 for different pairs; the labels are 1 and 0,
    and pairs with 0 add nothing to the loss, so nothing pushes different questions apart.
Cause: (label|target|same|pair).{0,100}(-1\b|minus one|\b0\b|zero|1 and 0|0 and 1|0/1)
    |(-1\b|minus one).{0,80}(label|target|expect|negative|differ)
    |(negative|different|unequal|dissimilar).{0,30}pairs?.{0,80}(nothing|zero|\bno\b|never
    |ignored|\bnot\b|without)
Place: criterion|CosineEmbeddingLoss|same|target|label
"""
import torch
import torch.nn as nn

WORDS, LENGTH, TOPICS = 160, 10, 8


class QuestionEncoder(nn.Module):
    def __init__(self, words=WORDS, dim=32, out=24):
        super().__init__()
        self.embed = nn.Embedding(words, dim, padding_idx=0)
        self.gru = nn.GRU(dim, 32, batch_first=True)
        self.project = nn.Linear(32, out)

    def forward(self, question):
        states, _ = self.gru(self.embed(question))
        known = (question > 0).unsqueeze(-1)
        pooled = (states * known).sum(1) / known.sum(1).clamp(min=1)
        return self.project(pooled)


class DuplicateFinder(nn.Module):
    def __init__(self, margin=0.2):
        super().__init__()
        self.encoder = QuestionEncoder()
        self.criterion = nn.CosineEmbeddingLoss(margin=margin)

    def forward(self, first, second, same):
        return self.criterion(self.encoder(first), self.encoder(second), same)  # here


def write(topic, g):
    words = 1 + topic.view(-1, 1) * 18 + torch.randint(0, 18, (len(topic), LENGTH), generator=g)
    filler = torch.randint(146, WORDS, (len(topic), LENGTH), generator=g)
    question = torch.where(torch.rand(len(topic), LENGTH, generator=g) < 0.6, words, filler)
    length = torch.randint(6, LENGTH + 1, (len(topic), 1), generator=g)
    return question.masked_fill(torch.arange(LENGTH) >= length, 0)


def make_pairs(n, seed):
    g = torch.Generator().manual_seed(seed)
    topic = torch.randint(0, TOPICS, (n,), generator=g)
    same = torch.randint(0, 2, (n,), generator=g)
    other = (topic + torch.randint(1, TOPICS, (n,), generator=g)) % TOPICS
    return write(topic, g), write(torch.where(same == 1, topic, other), g), same


def build():
    torch.manual_seed(0)
    return DuplicateFinder()


def example_inputs():
    return make_pairs(96, seed=24)
