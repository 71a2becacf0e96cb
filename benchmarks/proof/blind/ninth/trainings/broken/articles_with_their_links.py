r"""Subjects of linked articles from the words in them and the links around them.

Source: https://github.com/pmernyei/wiki-cs-dataset/issues/4
Fault: No self-loops are added to the links before they are normalised, so an article gets only
    the words of its neighbours and none of its own.
Cause: self.?(loop|connection|edge|link)|(\bown\b|\bitself\b|identity|\beye\b
    |diagonal).{0,100}(word|feature|node|missing|added|never|lost|matrix|ignor)
    |only.{0,30}neighbou?r
Place: adjacency|normalise|normalize|load|adj|links|edges|self_loop|eye|load_links
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(311)
ARTICLES, SUBJECTS, WORDS = 500, 5, 40
subject = torch.randint(0, SUBJECTS, (ARTICLES,))
typical = 1.5 * torch.randn(SUBJECTS, WORDS).sign()


def load_words():
    return 0.3 * typical[subject] + torch.randn(ARTICLES, WORDS)


def load_links(per_article=2, same=0.35):
    """Most articles link across the subjects."""
    links = torch.zeros(ARTICLES, ARTICLES)
    for article in range(ARTICLES):
        for _ in range(per_article):
            if torch.rand(1) < same:
                choice = (subject == subject[article]).nonzero().flatten()
            else:
                choice = torch.arange(ARTICLES)
            other = choice[torch.randint(0, len(choice), (1,))]
            if other != article:
                links[article, other] = links[other, article] = 1
    return links


def normalise(adjacency):
    degree = adjacency.sum(1).clamp(min=1)  # here
    return adjacency / degree.sqrt()[:, None] / degree.sqrt()


class GCN(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.first, self.second = nn.Linear(WORDS, hidden), nn.Linear(hidden, SUBJECTS)
        self.dropout = nn.Dropout(0.4)

    def forward(self, x, adjacency):
        x = (adjacency @ self.first(self.dropout(x))).relu()
        return adjacency @ self.second(self.dropout(x))


x, adjacency = load_words(), normalise(load_links())
order = torch.randperm(ARTICLES)
train, val, test = order[:150], order[150:300], order[300:]
model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
best_val, chosen = 0.0, 0.0
for epoch in range(120):
    model.train()
    loss = F.cross_entropy(model(x, adjacency)[train], subject[train])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        right = (model(x, adjacency).argmax(1) == subject).float()
    if right[val].mean() > best_val:
        best_val, chosen = right[val].mean().item(), right[test].mean().item()
    if epoch % 30 == 29:
        print(f"epoch {epoch + 1} loss {loss.item():.4f} val {best_val:.3f} test {chosen:.3f}")
