r"""A training.

Source: https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation
Fault: Gradients are accumulated over several micro-batches without dividing the loss by their
    number, so the update is several times too large.
Cause: (accum\w*).{0,100}(divid|scal|normali|average|mean|sum|times|larger|too large)
    |(not|never|without) (divid|scal|normali|averag)
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)
A = torch.randn(15, 15) / 4
src = torch.randn(1024, 15)
dst = torch.tanh(src @ A) + 0.05 * torch.randn(1024, 15)
loader = DataLoader(TensorDataset(src[:896], dst[:896]), batch_size=16, shuffle=True, drop_last=True)

model = nn.Sequential(nn.Linear(15, 64), nn.ReLU(), nn.Linear(64, 15))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
loss_fn = nn.MSELoss()
accum_steps = 8

optimizer.zero_grad()
for epoch in range(8):
    shown = 0.0
    for i, (xb, yb) in enumerate(loader):
        loss = loss_fn(model(xb), yb)
        shown += loss.item()
        loss.backward()
        if (i + 1) % accum_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
    print(f"epoch {epoch} loss {shown / len(loader):.4f}")

model.eval()
with torch.no_grad():
    print("test", loss_fn(model(src[896:]), dst[896:]).item())
