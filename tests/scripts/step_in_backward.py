"""One optimizer per parameter, which steps as soon as its gradient is complete."""

import sys
import torch


class Block(torch.nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.fc1 = torch.nn.Linear(dim, 2 * dim)
        self.fc2 = torch.nn.Linear(2 * dim, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.fc2(torch.relu(self.fc1(x)))


torch.manual_seed(21)
model = torch.nn.Sequential(Block(4), Block(4), torch.nn.Linear(4, 2))
optimizers = {p: torch.optim.Adam([p], lr=0.01) for p in model.parameters()}


def optimizer_hook(parameter) -> None:
    # truth: piece("model", optimizers[parameter])
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


for p in model.parameters():
    p.register_post_accumulate_grad_hook(optimizer_hook)

for step in range(7):
    x = torch.randn(8, 4)
    loss = (model(x) - x[:, :2].sin()).square().mean()
    loss.backward()
    # truth: whole("model", loss)
    print(step, float(loss))
torch.save(model.state_dict(), sys.argv[1])
