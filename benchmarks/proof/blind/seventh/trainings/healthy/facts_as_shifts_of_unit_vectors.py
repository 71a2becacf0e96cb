r"""Facts of a small world as shifts of vectors that are kept at length one.

Source: https://github.com/mklimasz/TransE-PyTorch
Odd: The vectors of the things are divided by their length before every epoch, outside of the
    optimizer, and pairs that are already apart by the margin get no gradient.
"""

import torch
from torch import nn

torch.manual_seed(126)
SIDE, RELATIONS, DIM = 7, 4, 16
THINGS = SIDE * SIDE


class TransE(nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.thing, self.relation = nn.Embedding(THINGS, DIM), nn.Embedding(RELATIONS, DIM)
        bound = 6 / DIM**0.5
        for table in (self.thing, self.relation):
            nn.init.uniform_(table.weight, -bound, bound)
        with torch.no_grad():
            self.relation.weight.div_(self.relation.weight.norm(p=1, dim=1, keepdim=True))
        self.criterion = nn.MarginRankingLoss(margin=margin)

    @torch.no_grad()
    def normalise(self):
        self.thing.weight.div_(self.thing.weight.norm(dim=1, keepdim=True))

    def distance(self, h, r, t):
        return (self.thing(h) + self.relation(r) - self.thing(t)).norm(dim=-1)

    def forward(self, good, bad):
        near, far = self.distance(*good.t()), self.distance(*bad.t())
        return self.criterion(near, far, torch.full_like(near, -1.0))


def world():
    facts = []
    for r, (down, right) in enumerate(((1, 0), (0, 1), (1, 1), (2, -1))):
        for y in range(SIDE - down):
            for x in range(max(0, -right), SIDE - max(0, right)):
                facts.append((y * SIDE + x, r, (y + down) * SIDE + x + right))
    return torch.tensor(facts)[torch.randperm(len(facts))]


def corrupt(facts):
    bad = facts.clone()
    random = torch.randint(0, THINGS, (len(facts),))
    head = torch.rand(len(facts)) < 0.5
    bad[head, 0] = random[head]
    bad[~head, 2] = random[~head]
    return bad


@torch.no_grad()
def hits(model, facts, at=5):
    h, r, t = facts.t()
    scores = model.distance(h[:, None], r[:, None], torch.arange(THINGS)[None])
    rank = (scores < scores.gather(1, t[:, None])).sum(1)
    return (rank < at).float().mean().item()


facts = world()
train, held_out = facts[:125], facts[125:]
model = TransE()
optimizer = torch.optim.SGD(model.parameters(), lr=0.4)
print(f"before: hits {hits(model, train):.3f}")
for epoch in range(90):
    model.normalise()
    total = 0.0
    for batch in train[torch.randperm(len(train))].split(32):
        loss = model(batch, corrupt(batch))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 18 == 17:
        known, unknown = hits(model, train), hits(model, held_out)
        print(f"epoch {epoch + 1} loss {total / 4:.3f} hits {known:.3f} new facts {unknown:.3f}")
