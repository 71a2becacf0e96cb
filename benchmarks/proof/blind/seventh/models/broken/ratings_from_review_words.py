r"""Rating of an item by a user from the words of their reviews, with a factorisation machine.

Source: https://github.com/ShomyLiu/Neu-Review-Rec/issues/9
Fault: The sum of the pairwise terms has no dim, so it also adds up the whole batch.
Cause: \bsum\w*.{0,120}(batch|\bdim\b|axis|all|samples?|scalar|every)
    |(batch|samples?|rows?|examples?).{0,100}(\bsum\w*|added)
    |(no|miss\w+|without|lack\w*).{0,20}(\bdim\b|axis)
Place: \bsum\b|fm_output|interactions?_?\d?|\bFM\b
"""

import torch
import torch.nn.functional as F
from torch import nn


class ReviewWords(nn.Module):
    def __init__(self, vocab=150, dim=24, filters=20, out=12):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.cnn = nn.Conv1d(dim, filters, 3, padding=1)
        self.linear = nn.Linear(filters, out)
        nn.init.uniform_(self.embed.weight, -0.1, 0.1)

    def forward(self, words):
        x = F.relu(self.cnn(self.embed(words).transpose(1, 2)))
        return self.linear(x.amax(-1))


class FM(nn.Module):
    def __init__(self, dim, factors=8):
        super().__init__()
        self.fc = nn.Linear(dim, 1)
        self.fm_V = nn.Parameter(torch.empty(dim, factors).normal_(std=0.1))
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        fm_linear_part = self.fc(x)
        interactions_1 = (x @ self.fm_V).square()
        interactions_2 = x.square() @ self.fm_V.square()
        fm_output = 0.5 * torch.sum(interactions_1 - interactions_2) + fm_linear_part  # here
        return fm_output


class RatingFromWords(nn.Module):
    def __init__(self, users=30, items=40):
        super().__init__()
        self.user_words, self.item_words = ReviewWords(), ReviewWords()
        self.user_id, self.item_id = nn.Embedding(users, 12), nn.Embedding(items, 12)
        self.dropout = nn.Dropout(0.2)
        self.predict = FM(24)

    def forward(self, user, item, user_doc, item_doc):
        u = self.user_id(user) + self.user_words(user_doc)
        v = self.item_id(item) + self.item_words(item_doc)
        return self.predict(self.dropout(torch.cat([u, v], dim=1))).squeeze(1)


def build():
    return RatingFromWords()


def example_inputs():
    docs = torch.randint(0, 150, (2, 8, 20))
    return torch.randint(0, 30, (8,)), torch.randint(0, 40, (8,)), docs[0], docs[1]
