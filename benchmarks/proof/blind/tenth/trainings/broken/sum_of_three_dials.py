r"""Sum of three dials, which a single linear layer should be able to read off.

Source: https://discuss.pytorch.org/t/output-of-the-model-depends-on-the-shape-of-the-weights-tensor/148155
Fault: The output has the shape (N, 1) and the target (N), so the loss compares each output with
    each target and the layer learns the mean.
Cause: broadcast|shape.{0,80}(mismatch|differ|not|\(\[|target|output|match)|(unsqueeze|squeeze
    |view).{0,60}(target|output|missing|need)|(each|every) (output|prediction).{0,60}(each|every
    |all) (the )?target|(N, ?1|\[\d+, ?1\])
Place: y|out|target|loss|squeeze|mse|criterion
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

torch.manual_seed(148)
X = torch.rand(1024, 3)
y = X[:, 0] + X[:, 1] + X[:, 2]  # here
model = nn.Sequential(nn.Linear(3, 1, bias=False))
optimizer = torch.optim.SGD(model.parameters(), lr=10e-2)
scheduler = ReduceLROnPlateau(optimizer, "min", factor=0.5, patience=20)
mse = nn.MSELoss()

for epoch in range(400):
    optimizer.zero_grad()
    out = model(X)
    loss = mse(out, y)
    loss.backward()
    optimizer.step()
    scheduler.step(loss)
    if epoch % 80 == 79:
        print(f"epoch {epoch + 1} loss {loss.item():.5f}")

with torch.no_grad():
    for dials in ([0.1, 0.1, 0.1], [0.5, 0.5, 0.5], [0.9, 0.9, 0.9]):
        print(f"{dials} read as {model(torch.tensor([dials])).item():.3f}, is {sum(dials):.3f}")
    weights = model[0].weight.squeeze(0)
    spread = (model(X).squeeze(1) - X.sum(1)).abs().mean().item()
rounded = ", ".join(f"{weight:.3f}" for weight in weights.tolist())
print(f"weights {rounded}, off by {spread:.4f} on average")
