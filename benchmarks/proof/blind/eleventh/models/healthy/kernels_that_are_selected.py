r"""A small residual net with selective kernels, which chooses between filters of two sizes.

Source: https://github.com/pppLang/SKNet/issues/1
Healthy: the softmax is over dim 1 of (batch, branches, channels): the branches compete for each
    channel, which is what the paper wants; the channels do not compete with each other.
"""
import torch
from torch import nn


class SKConv(nn.Module):
    def __init__(self, features, M=2, G=4, r=2, stride=1, L=8):
        """ Constructor
        Args:
            features: input channel dimensionality.
            M: the number of branches.
            G: num of convolution groups.
            r: the ratio for compute d, the length of z.
            L: the minimum dim of the vector z in paper.
        """
        super(SKConv, self).__init__()
        d = max(int(features / r), L)
        self.M = M
        self.features = features
        self.convs = nn.ModuleList([])
        for i in range(M):
            self.convs.append(nn.Sequential(
                nn.Conv2d(features, features, kernel_size=3 + i * 2, stride=stride,
                          padding=1 + i, groups=G, bias=False),
                nn.BatchNorm2d(features),
                nn.ReLU(inplace=False)
            ))
        self.fc = nn.Linear(features, d)
        self.fcs = nn.ModuleList([nn.Linear(d, features) for _ in range(M)])
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        feas = torch.stack([conv(x) for conv in self.convs], dim=1)
        fea_U = torch.sum(feas, dim=1)
        fea_s = fea_U.mean(-1).mean(-1)
        fea_z = torch.relu(self.fc(fea_s))
        attention_vectors = torch.stack([fc(fea_z) for fc in self.fcs], dim=1)
        attention_vectors = self.softmax(attention_vectors)
        attention_vectors = attention_vectors.unsqueeze(-1).unsqueeze(-1)
        fea_v = (feas * attention_vectors).sum(dim=1)
        return fea_v


class SKUnit(nn.Module):
    def __init__(self, in_features, out_features, stride=1, L=8):
        super(SKUnit, self).__init__()
        mid_features = out_features // 2
        self.feas = nn.Sequential(
            nn.Conv2d(in_features, mid_features, 1, stride=1, bias=False),
            nn.BatchNorm2d(mid_features),
            nn.ReLU(),
            SKConv(mid_features, stride=stride, L=L),
            nn.BatchNorm2d(mid_features),
            nn.Conv2d(mid_features, out_features, 1, stride=1, bias=False),
            nn.BatchNorm2d(out_features)
        )
        if in_features == out_features and stride == 1:
            self.shortcut = nn.Sequential()
        else:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_features, out_features, 1, stride=stride, bias=False),
                nn.BatchNorm2d(out_features)
            )

    def forward(self, x):
        return torch.relu(self.feas(x) + self.shortcut(x))


class SKNet(nn.Module):
    def __init__(self, class_num=4):
        super(SKNet, self).__init__()
        self.basic_conv = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU()
        )
        self.stage_1 = SKUnit(16, 32, stride=2)
        self.stage_2 = SKUnit(32, 32)
        self.classifier = nn.Linear(32, class_num)

    def forward(self, x):
        fea = self.basic_conv(x)
        fea = self.stage_2(self.stage_1(fea))
        fea = fea.mean(-1).mean(-1)
        return self.classifier(fea)


def make_textures(n=32, size=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    rows = torch.arange(size).view(1, size, 1).float()
    cols = torch.arange(size).view(1, 1, size).float()
    freq = torch.tensor([0.5, 0.5, 1.4, 1.4])[y].view(n, 1, 1)
    phase = 6.28 * torch.rand(n, 1, 1, generator=g)
    along = torch.where((y % 2 == 0).view(n, 1, 1), rows + 0 * cols, cols + 0 * rows)
    x = torch.sin(freq * along + phase) + 0.6 * torch.randn(n, size, size, generator=g)
    return x.unsqueeze(1), y


def build():
    torch.manual_seed(0)
    return SKNet()


def example_inputs():
    return (make_textures(8)[0],)
