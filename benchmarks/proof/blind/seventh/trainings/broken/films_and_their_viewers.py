r"""Which films a viewer likes, by the product of two embeddings.

Source: https://github.com/pytorch/pytorch/issues/3121
Fault: The embeddings keep the default values of variance one, which is far too large for the
    product.
Cause: (embed|init|weight|scor|logit|product|variance|std)\w*.{0,80}(large|high|big|huge|N\(0)
    |(large|high|big|huge|wide)\w* .{0,60}(embed|init|weight|scor|logit|variance|std)
    |initiali[sz].{0,80}(scale|std|smaller|0\.0)|first loss.{0,80}(ln|log|0\.69|chance)
Place: Embedding|users?|films?|embed|init
"""

import torch
import torch.nn.functional as F
from torch import nn


class Factors(nn.Module):
    def __init__(self, viewers, films, dim=64):
        super().__init__()
        self.users = nn.Embedding(viewers, dim)  # here
        self.films = nn.Embedding(films, dim)  # here
        self.user_bias = nn.Embedding(viewers, 1)
        self.film_bias = nn.Embedding(films, 1)
        for table in (self.user_bias, self.film_bias):
            nn.init.zeros_(table.weight)

    def forward(self, viewer, film):
        match = (self.users(viewer) * self.films(film)).sum(-1)
        return match + (self.user_bias(viewer) + self.film_bias(film)).squeeze(-1)


def opinions(viewers=200, films=120, count=9000):
    taste, kind = torch.randn(viewers, 3), torch.randn(films, 3)
    viewer = torch.randint(0, viewers, (count,))
    film = torch.randint(0, films, (count,))
    score = (taste[viewer] * kind[film]).sum(1) + 0.5 * torch.randn(films)[film]
    return viewer, film, (score + 0.3 * torch.randn(count) > 0).float()


def main(epochs=6, batch=128):
    torch.manual_seed(13)
    viewer, film, liked = opinions()
    train, test = slice(0, 7000), slice(7000, None)
    model = Factors(200, 120)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(epochs):
        total = 0.0
        for rows in torch.randperm(7000).split(batch):
            loss = F.binary_cross_entropy_with_logits(model(viewer[rows], film[rows]), liked[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        with torch.no_grad():
            logits = model(viewer[test], film[test])
            right = ((logits > 0) == (liked[test] > 0.5)).float().mean().item()
            test_loss = F.binary_cross_entropy_with_logits(logits, liked[test]).item()
        print(f"epoch {epoch} loss {total / 7000:.3f} test {test_loss:.3f} right {right:.3f}")


main()
