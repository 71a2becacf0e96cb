r"""Net that steers a car on a lane from small frames of a camera.

Source: https://github.com/PacktPublishing/Deep-Reinforcement-Learning-Hands-On-Second-Edition/pull/33
Fault: Pixels are meant to be brought to -1..1, but the "- 1" is taken off the factor instead of
    the value, so the net gets numbers from about -253 to 0.
Cause: (pixel|input|image|frame|value|scal|normali|range|factor|preprocess).{0,100}(wrong|incorrect
    |not (scal|normali|in|between|brought)|outside|large|-25[0-9]|huge|negative|parenthes|preceden
    |bracket|factor|unnormali|unscaled|misplaced)|(wrong|misplaced).{0,20}(parenthes|bracket
    |factor)|(-|minus) ?1.{0,40}(factor|inside|bracket|parenthes|scale)
Place: scale|scaled|preprocess|frames?|normali[sz]e|x
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(33)
SIZE = 12


def camera(count):
    place = torch.rand(count) * 2 - 1
    columns = torch.linspace(-1, 1, SIZE)
    lane = torch.exp(-((columns[None] - place[:, None]) ** 2) / 0.05)
    frame = 90 + 110 * lane[:, None, None, :].expand(-1, 1, SIZE, SIZE)
    frame = (frame + 12 * torch.randn(count, 1, SIZE, SIZE)).clamp(0, 255).to(torch.uint8)
    return frame, (-0.8 * place).unsqueeze(1)


def scale(frames):
    return frames.float() * (2.0 / 255.0 - 1.0)  # here


class Steering(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.fc = nn.Linear(16 * 9, 32)
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x)).flatten(1)
        return torch.tanh(self.out(torch.tanh(self.fc(x))))


frames, angles = camera(1200)
val_frames, val_angles = camera(300)
net = Steering()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(12):
    for rows in torch.randperm(len(frames)).split(50):
        loss = F.mse_loss(net(scale(frames[rows])), angles[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 2:
        with torch.no_grad():
            val = F.mse_loss(net(scale(val_frames)), val_angles).item()
        print(f"epoch {epoch + 1} loss {loss.item():.4f} val loss {val:.4f}")
print(f"variance of the angles {val_angles.var().item():.4f}")
