r"""Pull of a spring of unknown law from where it hangs, with a net of any curve and depth.

Source: https://github.com/pytorch/pytorch/pull/139667
Fault: The activation stands behind the loop instead of inside it, so the linear layers follow
    each other directly and act like a single one.
Cause: (activation|nonlinear|non-linear).{0,140}(outside|after|behind|once|not (between|inside)
    |only|loop|indent|missing|dedent|last)|(linear).{0,80}(single|one|collapse|directly|equivalent
    |without)|indent
Place: forward|act|activations?|linears|x|self\.activations
"""

import torch
from torch import nn

torch.manual_seed(401)
PLACES, HIDDEN = 3, 48


def springs(count):
    place = torch.rand(count, PLACES) * 4 - 2
    radius = place.norm(dim=1, keepdim=True)
    return place, torch.sin(2 * radius) + 0.3 * place[:, :1] * place[:, 1:2]


class DynamicNet(nn.Module):
    def __init__(self, num_layers):
        super().__init__()
        widths = [PLACES] + [HIDDEN] * num_layers
        self.linears = nn.ModuleList(
            nn.Linear(a, b) for a, b in zip(widths[:-1], widths[1:], strict=True)
        )
        self.activations = nn.ModuleDict({"relu": nn.ReLU(), "tanh": nn.Tanh()})
        self.final = nn.Linear(HIDDEN, 1)

    def forward(self, x, act):
        for linear in self.linears:
            x = linear(x)
        x = self.activations[act](x)  # here
        return self.final(x)


train_x, train_y = springs(1000)
test_x, test_y = springs(400)
model = DynamicNet(num_layers=4)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(20):
    running = 0.0
    for rows in torch.randperm(len(train_x)).split(50):
        loss = nn.functional.mse_loss(model(train_x[rows], "relu"), train_y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    if epoch % 4 == 3:
        with torch.no_grad():
            error = nn.functional.mse_loss(model(test_x, "relu"), test_y).item()
        print(
            f"epoch {epoch + 1} loss {running / 20:.4f} test {error:.4f} "
            f"(variance {test_y.var().item():.4f})"
        )
