r"""A residual net with selective kernels for hyperspectral patches: two branches are weighed.

Source: https://github.com/suvojit-0x55aa/A2S2K-ResNet/issues/4
Fault: both scores that go into the softmax over the branches come from the same layer applied to
    the same vector, so that they are equal and each branch always gets one half.
Cause: (same|equal|identical).*(layer|score|logit|vector|conv|twice|entries|branch)
    |(twice|stack|cat).*(same|identical|equal|conv_ex)|conv_ex.*(twice|two times|both|same)
    |(always|constant|exactly|uniform|fixed).*(0\.5|half|uniform|equal|weight)
    |softmax.*(0\.5|half|uniform|constant|equal)|\b0\.5\b|one half
Place: conv_ex|attention_vector|softmax|selective|conv_se
"""
import torch
from torch import nn
import torch.nn.functional as F

BANDS = 16
CLASSES = 5
PATCH = 7


class ChannelSELayer3D(nn.Module):
    def __init__(self, num_channels, reduction_ratio=2):
        super().__init__()
        self.avg_pool = nn.AdaptiveAvgPool3d(1)
        hidden = num_channels // reduction_ratio
        self.fc1 = nn.Linear(num_channels, hidden, bias=True)
        self.fc2 = nn.Linear(hidden, num_channels, bias=True)

    def forward(self, x):
        b, c = x.shape[:2]
        z = self.avg_pool(x).view(b, c)
        z = torch.sigmoid(self.fc2(torch.relu(self.fc1(z))))
        return x * z.view(b, c, 1, 1, 1)


class Residual(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, padding):
        super(Residual, self).__init__()
        self.conv1 = nn.Sequential(
            nn.Conv3d(in_channels, out_channels, kernel_size=kernel_size, padding=padding),
            nn.ReLU())
        self.conv2 = nn.Conv3d(out_channels, out_channels, kernel_size=kernel_size,
                               padding=padding)
        self.bn1 = nn.BatchNorm3d(out_channels)
        self.bn2 = nn.BatchNorm3d(out_channels)
        self.se = ChannelSELayer3D(out_channels)

    def forward(self, X):
        Y = F.relu(self.bn1(self.conv1(X)))
        Y = self.se(self.bn2(self.conv2(Y)))
        return F.relu(Y + X)


class S3KAIResNet(nn.Module):
    def __init__(self, band=BANDS, classes=CLASSES, reduction=2, pl=12):
        super(S3KAIResNet, self).__init__()
        self.conv1x1 = nn.Conv3d(1, pl, kernel_size=(1, 1, 5), stride=(1, 1, 2))
        self.batch_norm1x1 = nn.Sequential(nn.BatchNorm3d(pl), nn.ReLU(inplace=False))
        self.conv3x3 = nn.Conv3d(1, pl, kernel_size=(3, 3, 5), stride=(1, 1, 2),
                                 padding=(1, 1, 0))
        self.batch_norm3x3 = nn.Sequential(nn.BatchNorm3d(pl), nn.ReLU(inplace=False))

        self.pool = nn.AdaptiveAvgPool3d(1)
        self.conv_se = nn.Sequential(
            nn.Conv3d(pl, pl // reduction, 1, bias=True), nn.ReLU(inplace=True))
        self.conv_ex = nn.Conv3d(pl // reduction, pl, 1, bias=True)
        self.softmax = nn.Softmax(dim=1)

        self.res_net1 = Residual(pl, pl, (1, 1, 3), (0, 0, 1))
        self.res_net2 = Residual(pl, pl, (3, 3, 1), (1, 1, 0))
        self.avg_pooling = nn.AdaptiveAvgPool3d(1)
        self.full_connection = nn.Linear(pl, classes)

    def forward(self, X):
        x_1x1 = self.batch_norm1x1(self.conv1x1(X)).unsqueeze(dim=1)
        x_3x3 = self.batch_norm3x3(self.conv3x3(X)).unsqueeze(dim=1)
        x1 = torch.cat([x_3x3, x_1x1], dim=1)
        U = torch.sum(x1, dim=1)
        S = self.pool(U)
        Z = self.conv_se(S)
        attention_vector = torch.cat(
            [
                self.conv_ex(Z).unsqueeze(dim=1),
                self.conv_ex(Z).unsqueeze(dim=1)  # here
            ],
            dim=1)
        attention_vector = self.softmax(attention_vector)
        V = (x1 * attention_vector).sum(dim=1)

        x2 = self.res_net1(V)
        x2 = self.res_net2(x2)
        x2 = self.avg_pooling(x2).view(x2.size(0), -1)
        return self.full_connection(x2)


def make_fields(n=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, CLASSES, (n,), generator=g)
    wave = torch.linspace(0, 3.0, BANDS)
    spectra = torch.stack([torch.sin(wave * (k + 1)) for k in range(CLASSES)])
    x = spectra[y].view(n, 1, 1, 1, BANDS).expand(n, 1, PATCH, PATCH, BANDS).clone()
    return x + 0.4 * torch.randn(x.shape, generator=g), y


def build():
    torch.manual_seed(0)
    return S3KAIResNet()


def example_inputs():
    return (make_fields(6)[0],)
