r"""A tree is laid into a disc in which distances grow towards the rim.

Source: https://github.com/facebookresearch/poincare-embeddings
Odd: The gradients are rescaled by hand before each update and the points are pushed back into the
    disc; the first epochs run at a tenth of the rate, and there is no module and no optimizer.
"""

import torch
import torch.nn.functional as F

torch.manual_seed(115)
EPS, NEGATIVES, RATE, BURN_IN, EPOCHS = 1e-5, 10, 0.25, 8, 40


def make_tree(children=3, depth=4):
    parents, level = [-1], [0]
    for _ in range(depth - 1):
        new = []
        for node in level:
            for _ in range(children):
                parents.append(node)
                new.append(len(parents) - 1)
        level = new
    return parents


def closure(parents):
    pairs = []
    for node in range(len(parents)):
        ancestor = parents[node]
        while ancestor >= 0:
            pairs.append((node, ancestor))
            ancestor = parents[ancestor]
    return torch.tensor(pairs)


def distance(u, v):
    square = (u - v).square().sum(-1)
    alpha = (1 - u.square().sum(-1)).clamp(min=EPS)
    beta = (1 - v.square().sum(-1)).clamp(min=EPS)
    gamma = 1 + 2 * square / (alpha * beta)
    return torch.log(gamma + (gamma.square() - 1).clamp(min=1e-10).sqrt())


@torch.no_grad()
def riemannian_step(points, rate):
    scale = (1 - points.square().sum(1, keepdim=True)).square() / 4
    points -= rate * scale * points.grad
    norm = points.norm(dim=1, keepdim=True).clamp(min=EPS)
    points.copy_(torch.where(norm >= 1, points / norm * (1 - EPS), points))
    points.grad = None


@torch.no_grad()
def mean_rank(points, pairs):
    u, v = pairs.t()
    every = distance(points[u][:, None], points[None])
    own = torch.zeros_like(every, dtype=torch.bool)
    related = torch.zeros(len(points), len(points), dtype=torch.bool)
    related[u, v] = True
    own[torch.arange(len(u)), u] = True
    every = every.masked_fill(own | related[u], float("inf"))
    return ((every < distance(points[u], points[v])[:, None]).sum(1) + 1.0).mean().item()


parents = make_tree()
pairs = closure(parents)
points = (2e-3 * torch.rand(len(parents), 2) - 1e-3).requires_grad_()
print(f"{len(parents)} nodes, mean rank before {mean_rank(points, pairs):.2f}")
for epoch in range(EPOCHS):
    rate = RATE / 10 if epoch < BURN_IN else RATE
    total = 0.0
    for rows in torch.randperm(len(pairs)).split(16):
        u, v = pairs[rows].t()
        others = torch.randint(0, len(parents), (len(rows), NEGATIVES))
        candidates = torch.cat([v[:, None], others], 1)
        logits = -distance(points[u][:, None], points[candidates])
        loss = F.cross_entropy(logits, torch.zeros(len(rows), dtype=torch.long), reduction="sum")
        loss.backward()
        riemannian_step(points, rate)
        total += loss.item()
    if epoch % 8 == 7:
        rank = mean_rank(points, pairs)
        print(f"epoch {epoch + 1} loss {total / len(pairs):.3f} rank {rank:.2f}")
