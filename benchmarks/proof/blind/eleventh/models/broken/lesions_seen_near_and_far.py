r"""A block that fuses local and global features of medical pictures, as a small classifier.

Source: https://github.com/huoxiangzuo/HiFuse/issues/9
Fault: the channel attention goes through the sigmoid twice, so that its gates lie between 0.62 and
    0.73 for all inputs: no channel can be shut and hardly any gradient comes through.
Cause: sigmoid.*(twice|two|double|again|second)
    |sigmoid.*(already|nested|applied to (a|the) sigmoid|of (a|the)? ?sigmoid|range|0\.(5|62|7))
    |(twice|double[ds]?|two|second|again|nested).*sigmoid
    |gates?.*(0\.(5|62|7)|narrow|cannot (close|shut)|never (close|shut)|limited|confined|range)
Place: sigmoid|\bse\b|g_jump|HFF|channel|output
"""
import torch
import torch.nn as nn


class Conv(nn.Module):
    def __init__(self, inp_dim, out_dim, kernel_size=3, stride=1, bn=False, relu=True, bias=True):
        super(Conv, self).__init__()
        self.conv = nn.Conv2d(inp_dim, out_dim, kernel_size, stride,
                              padding=(kernel_size - 1) // 2, bias=bias)
        self.relu = nn.ReLU(inplace=True) if relu else None
        self.bn = nn.BatchNorm2d(out_dim) if bn else None

    def forward(self, x):
        x = self.conv(x)
        if self.bn is not None:
            x = self.bn(x)
        if self.relu is not None:
            x = self.relu(x)
        return x


class IRMLP(nn.Module):
    def __init__(self, inp_dim, out_dim):
        super(IRMLP, self).__init__()
        self.conv1 = Conv(inp_dim, inp_dim, 3, relu=False, bias=False)
        self.conv2 = Conv(inp_dim, inp_dim * 2, 1, relu=False, bias=False)
        self.conv3 = Conv(inp_dim * 2, out_dim, 1, relu=False, bn=True)
        self.gelu = nn.GELU()
        self.bn1 = nn.BatchNorm2d(inp_dim)

    def forward(self, x):
        residual = x
        out = self.gelu(self.conv1(x)) + residual
        out = self.bn1(out)
        out = self.gelu(self.conv2(out))
        return self.conv3(out)


class HFF_block(nn.Module):
    def __init__(self, ch_1, ch_2, r_2, ch_int, ch_out):
        super(HFF_block, self).__init__()
        self.maxpool = nn.AdaptiveMaxPool2d(1)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.se = nn.Sequential(
            nn.Conv2d(ch_2, ch_2 // r_2, 1, bias=False),
            nn.ReLU(),
            nn.Conv2d(ch_2 // r_2, ch_2, 1, bias=False)
        )
        self.sigmoid = nn.Sigmoid()
        self.spatial = Conv(2, 1, 7, bn=True, relu=False, bias=False)
        self.W_l = Conv(ch_1, ch_int, 1, bn=True, relu=False)
        self.W_g = Conv(ch_2, ch_int, 1, bn=True, relu=False)
        self.gelu = nn.GELU()
        self.residual = IRMLP(ch_1 + ch_2 + ch_int, ch_out)

    def forward(self, l, g):
        W_local = self.W_l(l)
        W_global = self.W_g(g)
        X_f = self.gelu(W_local * W_global)

        # spatial attention for the local branch
        l_jump = l
        max_result, _ = torch.max(l, dim=1, keepdim=True)
        avg_result = torch.mean(l, dim=1, keepdim=True)
        l = self.spatial(torch.cat([max_result, avg_result], 1))
        l = self.sigmoid(l) * l_jump

        # channel attention for the global branch
        g_jump = g
        max_out = self.se(self.maxpool(g))
        avg_out = self.se(self.avgpool(g))
        output = self.sigmoid(max_out + avg_out)
        g = self.sigmoid(output) * g_jump  # here

        fuse = self.residual(torch.cat([g, l, X_f], 1))
        return fuse


class HiFuseTiny(nn.Module):
    def __init__(self, num_classes=3, dim=12):
        super(HiFuseTiny, self).__init__()
        self.local_stem = nn.Sequential(Conv(3, dim, 3, 2, bn=True), Conv(dim, dim, 3, bn=True))
        self.global_stem = nn.Sequential(Conv(3, dim, 5, 2, bn=True), Conv(dim, dim, 5, bn=True))
        self.fu = HFF_block(dim, dim, 4, dim, dim)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, num_classes)

    def forward(self, imgs):
        x = self.fu(self.local_stem(imgs), self.global_stem(imgs))
        return self.head(self.norm(x.mean([-2, -1])))


def make_lesions(n=12, size=16, seed=0):
    gen = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 3, (n,), generator=gen)
    x = 0.3 * torch.randn(n, 3, size, size, generator=gen)
    for i in range(n):
        r, c = torch.randint(0, size - 7, (2,), generator=gen).tolist()
        k = 3 + 2 * int(y[i])
        x[i, :, r:r + k, c:c + k] += torch.tensor([0.9, 0.4, 0.2]).view(3, 1, 1)
    return x, y


def build():
    torch.manual_seed(0)
    return HiFuseTiny()


def example_inputs():
    return (make_lesions(8)[0],)
