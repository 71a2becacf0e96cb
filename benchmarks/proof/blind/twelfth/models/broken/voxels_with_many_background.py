r"""A volumetric segmentation net that carries its multi-class focal loss.

Source: https://github.com/MIC-DKFZ/nnUNet/issues/705
Fault: The logits (B, C, D, H, W) are flattened with view(-1, num_classes) with the classes not
    moved to the end, so a row holds voxels of one class and doesn't belong to the label beside it.
Cause: (view|reshap|flatten)\w*.{0,140}(class|channel|permut|transpos|align|label|target|shuffl
    |scrambl|mix|order|memory|match|wrong)|(permut|transpos|movedim)\w*
    |logits .{0,80}(align|match|belong|correspond|scrambl|shuffl|mixed)
Place: FocalLoss\w*|logits|num_classes|view
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class FocalLossMultiClass(nn.Module):
    def __init__(self, gamma=2.0, eps=1e-6):
        super(FocalLossMultiClass, self).__init__()
        self.gamma = gamma
        self.eps = eps

    def forward(self, logits, target):
        """
        logits: b, c, d, h, w
        target: b, 1, d, h, w
        """
        num_classes = logits.shape[1]
        target = target.view(-1).long()
        logits = logits.view(-1, num_classes)  # here

        log_p = F.log_softmax(logits, dim=1)
        log_pt = log_p.gather(1, target.unsqueeze(1)).squeeze(1)
        pt = log_pt.exp().clamp(self.eps, 1. - self.eps)
        loss = -((1. - pt) ** self.gamma) * log_pt
        return loss.mean()


class ConvDropoutNormNonlin(nn.Module):
    def __init__(self, input_channels, output_channels, stride=1, dropout=0.0):
        super(ConvDropoutNormNonlin, self).__init__()
        self.conv = nn.Conv3d(input_channels, output_channels, 3, stride=stride, padding=1)
        self.dropout = nn.Dropout3d(dropout) if dropout > 0 else None
        self.instnorm = nn.InstanceNorm3d(output_channels, affine=True)
        self.lrelu = nn.LeakyReLU(0.01)

    def forward(self, x):
        x = self.conv(x)
        if self.dropout is not None:
            x = self.dropout(x)
        return self.lrelu(self.instnorm(x))


class StackedConvLayers(nn.Module):
    def __init__(self, cin, cout, num_convs=2, first_stride=1):
        super(StackedConvLayers, self).__init__()
        self.blocks = nn.Sequential(
            ConvDropoutNormNonlin(cin, cout, first_stride),
            *[ConvDropoutNormNonlin(cout, cout) for _ in range(num_convs - 1)])

    def forward(self, x):
        return self.blocks(x)


class Generic_UNet(nn.Module):
    def __init__(self, input_channels=1, base_num_features=8, num_classes=4):
        super(Generic_UNet, self).__init__()
        f = base_num_features
        self.num_classes = num_classes
        self.down1 = StackedConvLayers(input_channels, f)
        self.down2 = StackedConvLayers(f, f * 2, first_stride=2)
        self.bottleneck = StackedConvLayers(f * 2, f * 4, first_stride=2)
        self.tu2 = nn.ConvTranspose3d(f * 4, f * 2, 2, 2, bias=False)
        self.up2 = StackedConvLayers(f * 4, f * 2)
        self.tu1 = nn.ConvTranspose3d(f * 2, f, 2, 2, bias=False)
        self.up1 = StackedConvLayers(f * 2, f)
        self.seg_output = nn.Conv3d(f, num_classes, 1, bias=False)
        self.loss = FocalLossMultiClass()

    def forward(self, x, target=None):
        s1 = self.down1(x)
        s2 = self.down2(s1)
        x = self.bottleneck(s2)
        x = self.up2(torch.cat((self.tu2(x), s2), dim=1))
        x = self.up1(torch.cat((self.tu1(x), s1), dim=1))
        logits = self.seg_output(x)
        if target is None:
            return logits
        return self.loss(logits.contiguous(), target)


def build():
    torch.manual_seed(0)
    return Generic_UNet()


def example_inputs():
    torch.manual_seed(1)
    x = torch.randn(2, 1, 8, 8, 8)
    target = torch.zeros(2, 1, 8, 8, 8, dtype=torch.long)
    target[:, :, :4, :4] = 1
    target[:, :, 4:, 4:] = 2
    target[:, :, :4, 5:] = 3
    x = x * 0.3 + target.float()
    return x, target
