"""Many small regressions at once, drawn to the data and pushed away from each other.

Source: https://github.com/dilinwang820/Stein-Variational-Gradient-Descent
Odd: No loss is given to backward for the step: the gradients of the log posterior are mixed by a
    kernel and written to .grad by hand, with a minus, because the density is to rise.
"""

import math

import torch

torch.manual_seed(241)
PARTICLES, FEATURES, NOISE = 30, 3, 0.3
true_weights = torch.tensor([1.2, -0.7, 0.4])


def data(count):
    x = torch.randn(count, FEATURES)
    return x, x @ true_weights + NOISE * torch.randn(count)


def log_posterior(theta, x, y, scale):
    residual = y[None] - theta @ x.T
    likelihood = -0.5 * (residual / NOISE).square().sum(1) * scale
    return likelihood - 0.5 * theta.square().sum(1)


def svgd_kernel(theta):
    squared = torch.cdist(theta, theta).square()
    width = squared.median() / math.log(PARTICLES + 1)
    kernel = torch.exp(-squared / width.clamp(min=1e-6))
    repulsion = 2 / width * (theta * kernel.sum(1, keepdim=True) - kernel @ theta)
    return kernel, repulsion


x, y = data(40)
test_x, test_y = data(500)
theta = torch.nn.Parameter(3 * torch.randn(PARTICLES, FEATURES))
optimizer = torch.optim.Adam([theta], lr=0.1)
for iteration in range(250):
    pick = torch.randperm(len(x))[:20]
    log_p = log_posterior(theta, x[pick], y[pick], len(x) / 20)
    (score,) = torch.autograd.grad(log_p.sum(), theta)
    with torch.no_grad():
        kernel, repulsion = svgd_kernel(theta)
        theta.grad = -(kernel @ score + repulsion) / PARTICLES
    optimizer.step()
    if iteration % 50 == 0:
        print(f"iteration {iteration} mean log posterior {log_p.mean().item():.2f}")
with torch.no_grad():
    precision = x.T @ x / NOISE**2 + torch.eye(FEATURES)
    exact = torch.linalg.inv(precision).diagonal().sqrt()
    error = (test_y - test_x @ theta.mean(0)).square().mean().sqrt().item()
print(
    f"error {error:.3f} with noise {NOISE}; spread of the particles "
    f"{[round(v, 3) for v in theta.std(0).tolist()]}, exact "
    f"{[round(v, 3) for v in exact.tolist()]}"
)
