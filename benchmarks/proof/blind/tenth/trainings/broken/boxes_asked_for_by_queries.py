r"""One box per scene, found by queries that attend to the scene's cells.

Source: https://github.com/facebookresearch/detr/issues/285
Fault: The learning rate of Adam is far too large for a transformer, so the weights leap about and
    the loss stays at the level of a constant answer.
Cause: (learning rate|\blr\b|step size|rate|step).{0,80}(too (large|high|big)|large|high|0\.05
    |reduc|lower|smaller|decreas)|(large|high|big|lower|smaller|reduce\w*).{0,30}(learning rate
    |\blr\b|step)|diverg
Place: lr|learning_rate|optimizer|Adam\w*
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(285)
SIDE, DIM, QUERIES = 6, 32, 4
grid = torch.stack(torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij"), -1)


def scenes(count):
    corner = torch.randint(0, SIDE - 2, (count, 2))
    extent = torch.randint(1, 3, (count, 2))
    cells = grid[None]
    low, high = corner[:, None, None], (corner + extent)[:, None, None]
    inside = ((cells >= low) & (cells <= high)).all(-1).float()
    box = torch.cat([corner + extent / 2, extent + 1.0], 1) / SIDE
    return (inside + 0.2 * torch.randn_like(inside)).flatten(1).unsqueeze(2), box


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(1, DIM)
        self.place = nn.Parameter(0.5 * torch.randn(SIDE * SIDE, DIM))
        self.query = nn.Parameter(torch.randn(QUERIES, DIM))
        self.transformer = nn.Transformer(DIM, 4, 1, 1, 64, dropout=0.0, batch_first=True)
        self.box = nn.Sequential(nn.Linear(DIM * QUERIES, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, cells):
        source = self.proj(cells) + self.place
        queries = self.query.expand(len(cells), -1, -1)
        return self.box(self.transformer(source, queries).flatten(1)).sigmoid()


model = Detector()
param_dicts = [
    {"params": [p for n, p in model.named_parameters() if "proj" not in n]},
    {"params": model.proj.parameters(), "lr": 1e-3},
]
optimizer = torch.optim.AdamW(param_dicts, lr=5e-2, weight_decay=1e-4)  # here
for step in range(200):
    cells, box = scenes(48)
    found = model(cells)
    loss = F.l1_loss(found, box)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()
    if step % 40 == 39:
        constant = F.l1_loss(box.mean(0).expand_as(box), box).item()
        print(f"step {step + 1} loss {loss.item():.4f} (a constant box {constant:.4f})")
