r"""Robust classifier that is trained and attacked with the same gradients.

Source: https://github.com/mahyarnajibi/FreeAdversarialTraining
Odd: Each batch is used four times in a row, and the noise of the last batch is kept for the next.
"""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

BATCH, N_REPEATS, CLIP_EPS, FGSM_STEP = 50, 4, 0.3, 0.3


def train(loader, model, optimizer, global_noise_data):
    model.train()
    for x, y in loader:
        for _ in range(N_REPEATS):
            noise_batch = global_noise_data[: len(x)].clone().requires_grad_()
            loss = F.cross_entropy(model(x + noise_batch), y)
            optimizer.zero_grad()
            loss.backward()
            global_noise_data[: len(x)] += FGSM_STEP * noise_batch.grad.sign()
            global_noise_data.clamp_(-CLIP_EPS, CLIP_EPS)
            optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    means = torch.randn(4, 20)
    y = torch.randint(0, 4, (350,))
    x = means[y] + 0.6 * torch.randn(350, 20)
    loader = DataLoader(TensorDataset(x, y), batch_size=BATCH, shuffle=True)
    model = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    global_noise_data = torch.zeros(BATCH, 20)
    for epoch in range(3):
        loss = train(loader, model, optimizer, global_noise_data)
        print(f"epoch {epoch} loss {loss:.4f}")
    model.eval()
    attacked = x.clone().requires_grad_()
    F.cross_entropy(model(attacked), y).backward()
    for name, inputs in (("clean", x), ("attacked", x + CLIP_EPS * attacked.grad.sign())):
        print(f"{name} accuracy {(model(inputs).argmax(1) == y).float().mean().item():.3f}")


main()
