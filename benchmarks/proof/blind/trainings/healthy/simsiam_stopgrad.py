r"""Self-supervised learning with two views, a predictor and a stop-gradient.

Source: https://github.com/facebookresearch/simsiam/blob/main/main_simsiam.py
    https://github.com/facebookresearch/simsiam/blob/main/simsiam/builder.py
Odd: The targets are detached and the loss is negative; the stop-gradient is the method, and the
    loss falls towards -1 without collapse of the embeddings.
"""

import torch
import torch.nn.functional as F
from torch import nn


class SimSiam(nn.Module):
    def __init__(self, dim=16, pred_dim=8):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(20, 32, bias=False),
            nn.BatchNorm1d(32),
            nn.ReLU(),
            nn.Linear(32, dim),
            nn.BatchNorm1d(dim, affine=False),
        )
        self.predictor = nn.Sequential(
            nn.Linear(dim, pred_dim, bias=False),
            nn.BatchNorm1d(pred_dim),
            nn.ReLU(),
            nn.Linear(pred_dim, dim),
        )

    def forward(self, x1, x2):
        z1, z2 = self.encoder(x1), self.encoder(x2)
        return self.predictor(z1), self.predictor(z2), z1.detach(), z2.detach()


torch.manual_seed(0)
model = SimSiam()
criterion = nn.CosineSimilarity(dim=1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
basis = torch.randn(5, 20)
for step in range(250):
    content = torch.randn(128, 5) @ basis
    x1, x2 = (content + 0.3 * torch.randn_like(content) for _ in range(2))
    p1, p2, z1, z2 = model(x1, x2)
    loss = -(criterion(p1, z2).mean() + criterion(p2, z1).mean()) * 0.5
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        spread = F.normalize(z1, dim=1).std(0).mean().item()
        print(f"step {step} loss {loss.item():.4f} std {spread:.4f} (collapse would be 0)")
