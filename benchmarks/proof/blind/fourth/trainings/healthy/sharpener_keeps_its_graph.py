r"""Sharpening of signals with an adversary that is trained first in each step.

Source: https://github.com/VITA-Group/DeblurGANv2/issues/19
Odd: The backward of the adversary keeps its graph, since the output of the generator is not
    detached there; its gradients of the generator are cleared before the generator's own step.
"""

import torch
from torch import nn

torch.manual_seed(0)
kernel = torch.tensor([0.15, 0.2, 0.3, 0.2, 0.15]).view(1, 1, 5)
sharp = (torch.randn(128, 1, 36).cumsum(2)).sign()
blurred = nn.functional.conv1d(sharp, kernel)
sharp = sharp[..., 2:34]
netG = nn.Sequential(nn.Conv1d(1, 16, 5, padding=2), nn.ReLU(), nn.Conv1d(16, 1, 5, padding=2))
netD = nn.Sequential(nn.Conv1d(1, 8, 5, 2), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(112, 1))
optimizer_G = torch.optim.Adam(netG.parameters(), lr=1e-2)
optimizer_D = torch.optim.Adam(netD.parameters(), lr=1e-3)
for step in range(60):
    index = torch.randint(0, 128, (16,))
    outputs = blurred[index] + netG(blurred[index])
    optimizer_D.zero_grad()
    loss_D = (netD(sharp[index]) - 1).square().mean() + netD(outputs).square().mean()
    loss_D.backward(retain_graph=True)
    optimizer_D.step()
    optimizer_G.zero_grad()
    loss_content = (outputs - sharp[index]).square().mean()
    loss_G = loss_content + 0.01 * (netD(outputs) - 1).square().mean()
    loss_G.backward()
    optimizer_G.step()
print(f"content {loss_content.item():.4f} of {(blurred - sharp).square().mean().item():.4f}")
