"""The parameters live in a dict; the module only has the shape of the computation."""

import os

import torch
from torch import Tensor, nn
from torch.func import functional_call


class Field(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 8)
        self.outer = nn.Linear(8, 1)

    def forward(self, point: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        hidden = torch.sin(self.inner(point))
        return self.outer(hidden), {"hidden": hidden}


def fit(module: nn.Module, params: dict[str, Tensor], steps: int) -> None:
    optimizer = torch.optim.Adam(list(params.values()), lr=0.02)
    generator = torch.Generator().manual_seed(4)
    for step in range(steps):
        points = torch.rand(20, 2, generator=generator)
        value, extra = functional_call(module, params, (points,))
        loss = (value.squeeze(1) - points.prod(1)).abs().mean() + 1e-3 * extra["hidden"].norm()
        optimizer.zero_grad()
        loss.backward()
        # truth: before("module", optimizer, loss)
        optimizer.step()
        # truth: after("module")
        print(f"{step=} loss={loss.item():.8f}")


def main() -> None:
    torch.manual_seed(17)
    module = Field()
    params = {k: v.detach().clone().requires_grad_() for k, v in module.named_parameters()}
    fit(module, params, steps=6)
    torch.save(params, os.environ["WEIGHTS"])


if __name__ == "__main__":
    main()
