r"""Kind, attributes and corner points of a garment in one net with a pose branch.

Source: https://github.com/i008/pytorch-deepfashion/issues/1
Fault: The pose branch and the global branch are given the same module, so they share weights.
Cause: shar\w*|same (module|object|layer|instance|weights?|parameters?|convolution|memory)
    |(registered|used|called).{0,20}twice|alias\w*|identical (weights|parameters|module)
Place: conv5\w*|\bpose\b|global
"""

import torch
from torch import nn


def stage(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(cout, cout, 3, padding=1),
        nn.ReLU(),
    )


class Garments(nn.Module):
    def __init__(self, kinds=12, attributes=20, corners=8):
        super().__init__()
        self.conv1, self.conv2 = stage(3, 16), stage(16, 24)
        self.conv3 = stage(24, 32)
        conv5 = stage(32, 32)
        self.conv5_pose = conv5  # here
        self.conv5_global = conv5  # here
        self.pool = nn.MaxPool2d(2)
        self.pose_fc = nn.Sequential(nn.Linear(32 * 16, 64), nn.ReLU())
        self.visibility = nn.Linear(64, corners)
        self.location = nn.Linear(64, 2 * corners)
        self.global_fc = nn.Sequential(nn.Linear(32 * 16, 64), nn.ReLU(), nn.Dropout(0.3))
        self.fusion = nn.Sequential(nn.Linear(64 + corners * 32, 64), nn.ReLU())
        self.kind, self.attribute = nn.Linear(64, kinds), nn.Linear(64, attributes)

    def forward(self, image):
        base = self.pool(self.conv3(self.pool(self.conv2(self.pool(self.conv1(image))))))
        pose = self.pose_fc(self.conv5_pose(base).flatten(1))
        visible = self.visibility(pose)
        corner = torch.sigmoid(self.location(pose)).view(len(image), -1, 2)
        wide = self.conv5_global(base)
        grid = 2 * corner[:, :, None] - 1
        local = nn.functional.grid_sample(wide, grid, align_corners=False).squeeze(-1)
        local = (local * torch.sigmoid(visible)[:, None]).flatten(1)
        joint = self.fusion(torch.cat([self.global_fc(wide.flatten(1)), local], dim=1))
        return visible, corner, self.kind(joint), self.attribute(joint)


def build():
    return Garments()


def example_inputs():
    return (torch.rand(4, 3, 32, 32),)
