r"""Next frame of a rolling ball from the last frame and the action of the walker.

Source: https://github.com/facebookresearch/nwm/issues/16
Fault: The gradients are cleared only in the branch for full precision, so with bfloat16 they add
    up over all the steps.
Cause: zero_grad|(gradients?|grads?)\b.{0,60}(accumulat|add up|added up|cleared|zeroed|reset
    |carried|left over|stale|pile|summed|grow with)|(never|not|only).{0,30}(clear|zero
    |reset)\w*.{0,40}grad
Place: zero_grad|optimizer|bfloat_enable|train_step
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(11)
SIZE = 8


def render(position):
    grid = torch.arange(SIZE).float()
    gap_y = (grid - position[:, :1]).square()
    gap_x = (grid - position[:, 1:]).square()
    return torch.exp(-(gap_y[:, :, None] + gap_x[:, None, :]) / 1.5)


def sample_walks(count):
    position = 2 + 3 * torch.rand(count, 2)
    angle = 2 * math.pi * torch.rand(count)
    action = torch.stack([angle.sin(), angle.cos()], 1)
    return render(position), action, render(position + 1.5 * action)


class WorldModel(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.embed_frame = nn.Linear(SIZE * SIZE, width)
        self.embed_action = nn.Linear(2, width)
        self.blocks = nn.Sequential(
            nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, width), nn.GELU()
        )
        self.head = nn.Linear(width, SIZE * SIZE)

    def forward(self, frame, action):
        hidden = self.embed_frame(frame.flatten(1)) + self.embed_action(action)
        return self.head(self.blocks(hidden)).view(-1, SIZE, SIZE)


def train_step(model, optimizer, batch, bfloat_enable=True):
    frame, action, target = batch
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat_enable):
        predicted = model(frame, action)
    loss = F.mse_loss(predicted.float(), target)
    if not bfloat_enable:  # here
        optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    model = WorldModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.0)
    for step in range(300):
        loss = train_step(model, optimizer, sample_walks(64))
        if step % 50 == 0:
            print(f"(step={step:05d}) Train Loss: {loss:.5f}")
    with torch.no_grad():
        frame, action, target = sample_walks(1000)
        error = F.mse_loss(model(frame, action), target)
    print(f"test error {error.item():.5f}, of the mean frame {target.var(0).mean().item():.5f}")


main()
