r"""A training.

Source: https://docs.pytorch.org/docs/stable/optim.html#custom-averaging-strategies
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(113)
proto = torch.randn(4, 12)
lab = torch.randint(4, (640,))
sig = proto[lab] + 1.4 * torch.randn(640, 12)
loader = DataLoader(TensorDataset(sig[:400], lab[:400]), batch_size=20, shuffle=True)

DECAY = 0.97


def ema_avg(avg, current, num_averaged):
    return DECAY * avg + (1 - DECAY) * current


model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 4))
ema_model = AveragedModel(model, avg_fn=ema_avg)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
ce = nn.CrossEntropyLoss()
for epoch in range(6):
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = ce(model(xb), yb)
        loss.backward()
        optimizer.step()
        ema_model.update_parameters(model)
    with torch.no_grad():
        raw = ce(model(sig[400:]), lab[400:]).item()
        avg = ce(ema_model(sig[400:]), lab[400:]).item()
    print(f"epoch {epoch} raw {raw:.4f} ema {avg:.4f}")
