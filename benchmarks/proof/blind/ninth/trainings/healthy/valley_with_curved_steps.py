"""Small regression net moved by an optimizer that also uses the curvature.

Source: https://github.com/amirgholami/adahessian
Odd: The backward pass keeps its graph, the gradients are differentiated once more with random
    signs, and the optimizer is written by hand.
"""

import torch
from torch import nn

torch.manual_seed(1003)


class AdaHessian(torch.optim.Optimizer):
    def __init__(self, params, lr=0.1, betas=(0.9, 0.999), eps=1e-4):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})

    def set_hessian(self):
        params = [p for group in self.param_groups for p in group["params"]]
        signs = [torch.randint_like(p, 0, 2) * 2.0 - 1.0 for p in params]
        products = torch.autograd.grad([p.grad for p in params], params, grad_outputs=signs)
        for p, z, hz in zip(params, signs, products, strict=True):
            p.hess = (z * hz).detach().abs()

    def step(self, closure=None):
        self.set_hessian()
        with torch.no_grad():
            for group in self.param_groups:
                beta1, beta2 = group["betas"]
                for p in group["params"]:
                    state = self.state[p]
                    if not state:
                        state.update(t=0, m=torch.zeros_like(p), v=torch.zeros_like(p))
                    state["t"] += 1
                    state["m"].lerp_(p.grad.detach(), 1 - beta1)
                    state["v"].mul_(beta2).addcmul_(p.hess, p.hess, value=1 - beta2)
                    m = state["m"] / (1 - beta1 ** state["t"])
                    v = state["v"] / (1 - beta2 ** state["t"])
                    p.addcdiv_(m, v.sqrt() + group["eps"], value=-group["lr"])
                    p.grad = None


x = torch.rand(400, 2) * 4 - 2
y = torch.sin(2 * x[:, :1]) * x[:, 1:] + 0.05 * torch.randn(400, 1)
model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = AdaHessian(model.parameters(), lr=0.05)
for epoch in range(40):
    for rows in torch.randperm(400).split(50):
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        params = list(model.parameters())
        grads = torch.autograd.grad(loss, params, create_graph=True)
        for p, grad in zip(params, grads, strict=True):
            p.grad = grad
        optimizer.step()
    if epoch % 8 == 7:
        with torch.no_grad():
            total = nn.functional.mse_loss(model(x), y).item()
        print(f"epoch {epoch + 1} loss {total:.5f} (variance {y.var().item():.3f})")
