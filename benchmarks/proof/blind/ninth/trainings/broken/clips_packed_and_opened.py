r"""Short clips packed into few numbers and opened again, with attention inside each frame.

Source: https://github.com/PKU-YuanGroup/Open-Sora-Plan/issues/171
Fault: The time is joined with the batch by a reshape although the channels lie between them, so
    the rows of the attention hold mixtures of frames and channels.
Cause: (permut|transpos|reshape|view).{0,140}(time|frame|channel|axis|axes|order|mix|scrambl
    |without|before|wrong|dimension)|(frame|channel|time).{0,80}(mix|scrambl|mingl|jumbl
    |interleav)
Place: reshape|permute|view|q|k|v|transpose|forward|to_frames|join
"""

import torch
from torch import nn

torch.manual_seed(291)
TIME, SIDE, CHANNELS = 4, 6, 12


def clips(count):
    """A mark in every frame tells at which pixel the tone of the whole frame stands."""
    tones = torch.randn(count, TIME, SIDE * SIDE)
    place = torch.randint(0, SIDE * SIDE, (count, TIME, 1))
    mark = torch.zeros_like(tones).scatter_(2, place, 3.0)
    target = tones.gather(2, place).expand(-1, -1, SIDE * SIDE)
    video = torch.stack([tones, mark], 1)
    return video.view(count, 2, TIME, SIDE, SIDE), target.reshape(count, 1, TIME, SIDE, SIDE)


class AttnBlock3D(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Conv3d(CHANNELS, CHANNELS, 1) for _ in range(3))
        self.proj_out = nn.Conv3d(CHANNELS, CHANNELS, 1)

    def forward(self, x):
        b, c, t, h, w = x.shape
        q = self.q(x).reshape(b * t, c, h * w)  # here
        k = self.k(x).reshape(b * t, c, h * w)  # here
        v = self.v(x).reshape(b * t, c, h * w)  # here
        weight = (q.transpose(1, 2) @ k * c**-0.5).softmax(-1)
        out = (v @ weight.transpose(1, 2)).reshape(b, c, t, h, w)  # here
        return x + self.proj_out(out)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv3d(2, CHANNELS, 1)
        self.blocks = nn.ModuleList(AttnBlock3D() for _ in range(2))
        self.last = nn.Conv3d(CHANNELS, 1, 1)

    def forward(self, x):
        x = torch.tanh(self.first(x))
        for block in self.blocks:
            x = torch.tanh(block(x))
        return self.last(x)


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
test_video, test_target = clips(100)
for step in range(200):
    video, target = clips(24)
    loss = nn.functional.mse_loss(net(video), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        with torch.no_grad():
            error = nn.functional.mse_loss(net(test_video), test_target).item()
        print(f"step {step + 1} loss {loss.item():.4f} test {error:.4f} (variance {1.0:.1f})")
