r"""Direction of a movement of the hand from the differences of frames, forwards and backwards.

Source: https://github.com/MCG-NJU/TDN/issues/6
Fault: The backward branch is computed from the forward differences, so the network never sees
    where the hand came from.
Cause: (forward|backward)\w*.{0,100}(same|twice|copy|copied|wrong|instead|unused|never used|ignored
    |not used|input|identical|duplicat)|copy.?(and.?)?paste|wrong (variable|input|tensor)|duplicat
    |identical (branch|input)|backward\w*.{0,60}forward
Place: \w*backward\w*|\w*forward_smallscale\w*|mSEModule|x_backward
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(167)
FRAMES, SIZE = 3, 12


def clips(count=48):
    first = torch.randint(0, 4, (count,))
    second = torch.randint(0, 4, (count,))
    step = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])
    middle = torch.randint(4, SIZE - 4, (count, 2))
    places = torch.stack([middle - 2 * step[first], middle, middle + 2 * step[second]], 1)
    video = 0.1 * torch.randn(count, FRAMES, SIZE, SIZE)
    rows = torch.arange(count)[:, None].expand(-1, FRAMES)
    frames = torch.arange(FRAMES).expand(count, -1)
    for dy in (0, 1):
        for dx in (0, 1):
            video[rows, frames, places[..., 0] + dy, places[..., 1] + dx] += 1.0
    return video, 4 * first + second


class mSEModule(nn.Module):
    def __init__(self, channel):
        super().__init__()
        self.conv2 = nn.Conv2d(2, channel, 5, padding=2)
        self.conv3_smallscale4 = nn.Conv2d(channel, channel, 3, padding=1)
        self.bn3_smallscale4 = nn.BatchNorm2d(channel)

    def forward(self, video):
        before, now, after = video[:, 0:1], video[:, 1:2], video[:, 2:3]
        diff_forward = torch.cat([now, after - now], 1)
        diff_backward = torch.cat([now, before - now], 1)
        y_forward_smallscale4 = F.relu(self.conv2(diff_forward))
        y_backward_smallscale4 = F.relu(self.conv2(diff_backward))
        y_forward_smallscale4 = self.bn3_smallscale4(self.conv3_smallscale4(y_forward_smallscale4))
        y_backward_smallscale4 = self.bn3_smallscale4(
            self.conv3_smallscale4(y_forward_smallscale4)  # here
        )
        return y_forward_smallscale4, y_backward_smallscale4


class TDN_Net(nn.Module):
    def __init__(self, channel=24):
        super().__init__()
        self.module = mSEModule(channel)
        self.fc = nn.Linear(2 * channel, 16)

    def forward(self, video):
        pooled = [F.relu(y).amax(dim=(2, 3)) for y in self.module(video)]
        return self.fc(torch.cat(pooled, 1))


net = TDN_Net()
optimizer = torch.optim.AdamW(net.parameters(), lr=5e-3)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [60, 85], 0.2)
for i in range(100):
    video, target = clips()
    loss = F.cross_entropy(net(video), target)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 20)
    optimizer.step()
    scheduler.step()
    if i % 25 == 0:
        print(f"[{i}] Loss {loss.item():.4f}")
net.eval()
with torch.no_grad():
    video, target = clips(600)
    prec1 = (net(video).argmax(1) == target).float().mean().item()
print(f"Loss {loss.item():.4f} Prec@1 {prec1:.3f}")
