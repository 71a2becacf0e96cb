r"""Puts several tags on a cooking recipe, from the words of its list of ingredients.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiLabelSoftMarginLoss.html
Fault: MultiLabelSoftMarginLoss applies the sigmoid itself, but the head already ends in one, so
    scores lie in 0..1, no tag can get a probability below one half, and the loss stays high.
Cause: (sigmoid|squash).{0,80}(twice|second|doubl|again|already|before|itself|two times|another)
    |(twice|second|double|already|doubled).{0,60}sigmoid
    |(MultiLabelSoftMargin|loss|criterion).{0,80}(expects?|takes?|wants?|needs?).{0,40}(logits
    |raw scores|unnormali[sz]ed)
    |probabilit.{0,60}(instead of|in place of|where|rather than).{0,30}(logits|raw scores)
Place: head|sigmoid|criterion|MultiLabelSoftMarginLoss
"""
import torch
import torch.nn as nn

WORDS, TAGS, LENGTH = 120, 6, 14


class RecipeTagger(nn.Module):
    def __init__(self, words=WORDS, dim=32, tags=TAGS):
        super().__init__()
        self.embed = nn.Embedding(words, dim, padding_idx=0)
        self.mix = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.LayerNorm(64))
        self.head = nn.Sequential(nn.Linear(64, tags), nn.Sigmoid())  # here
        self.criterion = nn.MultiLabelSoftMarginLoss()

    def score(self, ingredients):
        known = (ingredients > 0).unsqueeze(-1).float()
        words = self.embed(ingredients) * known
        bag = words.sum(1) / known.sum(1).clamp(min=1)
        return self.head(self.mix(bag))

    def forward(self, ingredients, tags):
        return self.criterion(self.score(ingredients), tags)


def make_recipes(n, seed):
    g = torch.Generator().manual_seed(seed)
    tags = (torch.rand(n, TAGS, generator=g) < 0.25).float()
    ingredients = torch.randint(TAGS * 10 + 1, WORDS, (n, LENGTH), generator=g)
    for row in range(n):
        place = 0
        for tag in tags[row].nonzero().flatten().tolist():
            for _ in range(2):
                word = 1 + tag * 10 + int(torch.randint(0, 10, (1,), generator=g))
                ingredients[row, place] = word
                place += 1
        length = int(torch.randint(12, LENGTH + 1, (1,), generator=g))
        ingredients[row, length:] = 0
    return ingredients, tags


def build():
    torch.manual_seed(0)
    return RecipeTagger()


def example_inputs():
    return make_recipes(96, seed=3)
