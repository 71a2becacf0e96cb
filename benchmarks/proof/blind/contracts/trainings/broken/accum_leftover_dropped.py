r"""A training.

Source: https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation
Fault: The last, incomplete accumulation window of an epoch is cleared without a step, so its
    batches never contribute.
Cause: (last|leftover|remain\w*|incomplete|trailing|partial|final).{0,100}(accum|window|batch|step|grad|micro)
    |(grad\w*|batch\w*).{0,60}(discard|dropped|lost|never (used|contribut))
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(278)
mu = 1.3 * torch.randn(3, 9)
lab = torch.randint(3, (420,))
x = mu[lab] + torch.randn(420, 9)
loader = DataLoader(TensorDataset(x[:350], lab[:350]), batch_size=25, shuffle=True)

model = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
ce = nn.CrossEntropyLoss()
accum = 8
steps = 0

for epoch in range(20):
    model.train()
    opt.zero_grad()
    n_batches = len(loader)
    for i, (xb, yb) in enumerate(loader):
        start = i - i % accum
        window = min(accum, n_batches - start)
        loss = ce(model(xb), yb) / window
        loss.backward()
        if (i + 1) % accum == 0:
            opt.step()
            opt.zero_grad()
            steps += 1
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} loss {loss.item() * window:.4f} steps {steps}")

model.eval()
with torch.no_grad():
    print("acc", (model(x[350:]).argmax(1) == lab[350:]).float().mean().item())
