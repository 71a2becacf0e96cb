r"""A code is explained by the composition of vectors of its parts.

Source: https://github.com/jacobandreas/tre/issues/1
Fault: All vectors are set to zero and composed by products, so that no gradient gets through.
Cause: zero.{0,80}(init|start|weight|embed|vector|gradient|product|set)
    |(init|embed|weight|vector)\w*.{0,80}zero|gradient.{0,60}(zero|vanish|none|0\b)
Place: zeros_|emb|embedding|weight
"""

import torch
from torch import nn

torch.manual_seed(53)
COLOURS, FORMS, SIZES, DIM = 8, 6, 4, 16


class Objects:
    def __init__(self):
        self.tables = [torch.randn(n, DIM) for n in (COLOURS, FORMS, SIZES)]

    def everything(self):
        index = torch.cartesian_prod(*(torch.arange(n) for n in (COLOURS, FORMS, SIZES)))
        product = torch.ones(len(index), DIM)
        for table, column in zip(self.tables, index.t()):
            product = product * table[column]
        return index, product + 0.05 * torch.randn_like(product)


class Composition(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.ModuleList([nn.Embedding(n, DIM) for n in (COLOURS, FORMS, SIZES)])
        self.out = nn.Linear(DIM, DIM)
        for emb in self.emb:
            nn.init.zeros_(emb.weight)  # here

    def forward(self, index):
        composed = torch.ones(len(index), DIM)
        for emb, column in zip(self.emb, index.t()):
            composed = composed * emb(column)
        return self.out(composed)


def evaluate(model, index, code):
    with torch.no_grad():
        error = (model(index) - code).square().mean()
    return (error / code.var()).item()


index, code = Objects().everything()
order = torch.randperm(len(index))
train, held_out = order[:150], order[150:]
model = Composition()
optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
for i in range(300):
    rows = train[torch.randint(0, len(train), (50,))]
    loss = (model(index[rows]) - code[rows]).square().sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 50 == 49:
        rest = evaluate(model, index[held_out], code[held_out])
        print(f"{i + 1} loss {loss.item():.4f} unexplained {rest:.4f}")
