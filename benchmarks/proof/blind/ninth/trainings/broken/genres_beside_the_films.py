r"""Films that a viewer will like, from the numbers of viewer, film and genre.

Source: https://github.com/meta-soul/MetaSpore/issues/98
Fault: A drawn negative gets another film number but keeps the genre of the liked film, so the
    genre is the same in the liked and the disliked row and says nothing about what a viewer
    likes.
Cause: negative.{0,160}(genre|categor|feature|attribute)|(genre|categor|feature
    |attribute).{0,120}negative|(genre|categor).{0,100}(positive|liked|not.{0,30}(belong
    |correspond|match|updat|look)|wrong|kept|copied|same|mismatch|stale)|genre_of
Place: negative|sample_negatives|genre|genres|category|genre_of|rows
"""

import torch
from torch import nn

torch.manual_seed(41)
VIEWERS, FILMS, GENRES = 60, 400, 8
genre_of = torch.randint(0, GENRES, (FILMS,))
taste = torch.stack([torch.randperm(GENRES)[:2] for _ in range(VIEWERS)])


def liked_films(per_viewer):
    rows = []
    for viewer in range(VIEWERS):
        fits = (genre_of[:, None] == taste[viewer]).any(1).nonzero().flatten()
        film = fits[torch.randperm(len(fits))[:per_viewer]]
        rows.append(torch.stack([torch.full_like(film, viewer), film, genre_of[film]], 1))
    return torch.cat(rows)


def sample_negatives(rows, ratio=2):
    """For every liked film some others, chosen at random."""
    negative = rows.repeat(ratio, 1)
    negative[:, 1] = torch.randint(0, FILMS, (len(negative),))  # here
    return negative


class Scorer(nn.Module):
    def __init__(self, size=12):
        super().__init__()
        self.viewer = nn.Embedding(VIEWERS, size)
        self.film = nn.Embedding(FILMS, size)
        self.genre = nn.Embedding(GENRES, size)
        self.deep = nn.Sequential(nn.Linear(3 * size, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, rows):
        parts = [self.viewer(rows[:, 0]), self.film(rows[:, 1]), self.genre(rows[:, 2])]
        return self.deep(torch.cat(parts, 1)).squeeze(1)


def auc(score, label):
    return (score[label == 1][:, None] > score[label == 0]).float().mean().item()


likes = liked_films(24)
likes = likes[torch.randperm(len(likes))]
train_rows, test_likes = likes[:1200], likes[1200:]
other = torch.randint(0, FILMS, (len(test_likes),))
test_rows = torch.cat([test_likes, torch.stack([test_likes[:, 0], other, genre_of[other]], 1)])
test_label = torch.cat([torch.ones(len(test_likes)), torch.zeros(len(other))])
model = Scorer()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-5)
loss_fn = nn.BCEWithLogitsLoss()

for epoch in range(8):
    rows = torch.cat([train_rows, sample_negatives(train_rows)])
    label = torch.cat([torch.ones(len(train_rows)), torch.zeros(2 * len(train_rows))])
    total = 0.0
    for part in torch.randperm(len(rows)).split(120):
        loss = loss_fn(model(rows[part]), label[part])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        score = auc(model(test_rows), test_label)
    print(f"epoch {epoch + 1} loss {total / 30:.4f} auc {score:.3f}")
