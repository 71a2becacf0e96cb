"""Multi-task training where each batch belongs to one of two tasks.

Source: https://github.com/namisan/mt-dnn
Odd: in each step one of the two heads has no gradient at all; the batches alternate and the shared
    encoder learns from both.
"""

import torch
from torch import nn

torch.manual_seed(2018)


class MTDNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 32), nn.Tanh())
        self.scoring_list = nn.ModuleList([nn.Linear(32, 3), nn.Linear(32, 1)])

    def forward(self, x, task_id):
        return self.scoring_list[task_id](self.bert(x))


x = torch.randn(640, 16)
labels = (x[:, :3] + 0.5 * x[:, 3:6]).argmax(1)
scores = (x[:, :1] - x[:, 1:2]).tanh()
model = MTDNN()
optimizer = torch.optim.Adamax(model.parameters(), lr=5e-3)
for epoch in range(8):
    batches = [(t, rows) for t in (0, 1) for rows in torch.randperm(640).split(32)]
    totals = [0.0, 0.0]
    for index in torch.randperm(len(batches)).tolist():
        task_id, rows = batches[index]
        out = model(x[rows], task_id)
        if task_id == 0:
            loss = nn.functional.cross_entropy(out, labels[rows])
        else:
            loss = nn.functional.mse_loss(out, scores[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        totals[task_id] += loss.item() / 20
    print(f"epoch {epoch} classes {totals[0]:.4f} scores {totals[1]:.4f}")
