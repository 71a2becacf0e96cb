r"""A training.

Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.random_split
Fault: The random split has no fixed generator and is drawn again on resuming, so samples trained
    on before come into the validation set.
Cause: split.{0,120}(again|redraw|re-?drawn|seed|generator|differ|new|chang|resum)|leak|generator
    |(seen|trained).{0,60}valid
"""

import os
import tempfile
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(166)
x = torch.randn(240, 30)
y = ((x[:, 0] + 0.8 * torch.randn(240)) > 0).long()
data = TensorDataset(x, y)
ckpt_path = os.path.join(tempfile.mkdtemp(), "run.pt")


def session(epochs, resume):
    train_ds, val_ds = random_split(data, [180, 60])
    model = nn.Sequential(nn.Linear(30, 128), nn.ReLU(), nn.Linear(128, 2))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    if resume:
        state = torch.load(ckpt_path)
        model.load_state_dict(state["model"])
        opt.load_state_dict(state["opt"])
    for _ in range(epochs):
        for xb, yb in DataLoader(train_ds, batch_size=30, shuffle=True):
            opt.zero_grad()
            nn.functional.cross_entropy(model(xb), yb).backward()
            opt.step()
    torch.save({"model": model.state_dict(), "opt": opt.state_dict()}, ckpt_path)
    xv, yv = val_ds[:]
    with torch.no_grad():
        return (model(xv).argmax(1) == yv).float().mean().item()


print("first session val acc", session(12, resume=False))
print("second session val acc", session(3, resume=True))
