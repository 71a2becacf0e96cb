r"""Small TransUNet: convolutions, a transformer on the coarse grid, and a decoder with skips.

Source: https://github.com/mkara44/transunet_pytorch/issues/12
Healthy: there is no sine table in the ViT part; the parameter called embedding, added to the
    tokens, is a learned position encoding, and the first token is dropped after the blocks.
"""
import argparse
import math

import torch
import torch.nn as nn
from torch.optim import SGD
from torch.utils.data import DataLoader, Dataset


class MultiHeadAttention(nn.Module):
    def __init__(self, embedding_dim, head_num):
        super().__init__()
        self.head_num = head_num
        self.dk = (embedding_dim // head_num) ** (1 / 2)
        self.qkv_layer = nn.Linear(embedding_dim, embedding_dim * 3, bias=False)
        self.out_attention = nn.Linear(embedding_dim, embedding_dim, bias=False)

    def forward(self, x):
        b, t, c = x.shape
        qkv = self.qkv_layer(x).view(b, t, 3, self.head_num, c // self.head_num)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        energy = torch.einsum("bhid,bhjd->bhij", query, key) / self.dk
        attention = torch.softmax(energy, dim=-1)
        x = torch.einsum("bhij,bhjd->bhid", attention, value)
        x = x.transpose(1, 2).reshape(b, t, c)
        return self.out_attention(x)


class TransformerEncoderBlock(nn.Module):
    def __init__(self, embedding_dim, head_num, mlp_dim):
        super().__init__()
        self.multi_head_attention = MultiHeadAttention(embedding_dim, head_num)
        self.mlp = nn.Sequential(nn.Linear(embedding_dim, mlp_dim), nn.GELU(), nn.Dropout(0.1),
                                 nn.Linear(mlp_dim, embedding_dim), nn.Dropout(0.1))
        self.layer_norm1 = nn.LayerNorm(embedding_dim)
        self.layer_norm2 = nn.LayerNorm(embedding_dim)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        _x = self.dropout(self.multi_head_attention(x))
        x = self.layer_norm1(x + _x)
        return self.layer_norm2(x + self.mlp(x))


class ViT(nn.Module):
    def __init__(self, img_dim, in_channels, embedding_dim, head_num, mlp_dim, block_num):
        super().__init__()
        self.num_tokens = img_dim ** 2
        self.projection = nn.Linear(in_channels, embedding_dim)
        self.embedding = nn.Parameter(torch.rand(self.num_tokens + 1, embedding_dim))
        self.cls_token = nn.Parameter(torch.randn(1, 1, embedding_dim))
        self.dropout = nn.Dropout(0.1)
        self.transformer = nn.Sequential(*[TransformerEncoderBlock(embedding_dim, head_num,
                                                                   mlp_dim)
                                           for _ in range(block_num)])

    def forward(self, x):
        b, c, h, w = x.shape
        tokens = self.projection(x.flatten(2).transpose(1, 2))
        x = torch.cat([self.cls_token.expand(b, -1, -1), tokens], dim=1)
        x = self.dropout(x + self.embedding)
        x = self.transformer(x)[:, 1:, :]
        return x.transpose(1, 2).reshape(b, -1, h, w)


class EncoderBottleneck(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(in_channels, out_channels, 3, 2, 1, bias=False),
                                  nn.BatchNorm2d(out_channels), nn.ReLU(),
                                  nn.Conv2d(out_channels, out_channels, 3, 1, 1, bias=False),
                                  nn.BatchNorm2d(out_channels))
        self.downsample = nn.Sequential(nn.Conv2d(in_channels, out_channels, 1, 2, bias=False),
                                        nn.BatchNorm2d(out_channels))

    def forward(self, x):
        return torch.relu(self.body(x) + self.downsample(x))


class DecoderBottleneck(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.upsample = nn.Upsample(scale_factor=2, mode='bilinear', align_corners=True)
        self.layer = nn.Sequential(nn.Conv2d(in_channels, out_channels, 3, 1, 1),
                                   nn.BatchNorm2d(out_channels), nn.ReLU())

    def forward(self, x, x_concat=None):
        x = self.upsample(x)
        if x_concat is not None:
            x = torch.cat([x_concat, x], dim=1)
        return self.layer(x)


class TransUNet(nn.Module):
    def __init__(self, img_dim=32, in_channels=1, out_channels=12, head_num=4, mlp_dim=64,
                 block_num=2, class_num=1):
        super().__init__()
        self.conv1 = nn.Sequential(nn.Conv2d(in_channels, out_channels, 5, 2, 2, bias=False),
                                   nn.BatchNorm2d(out_channels), nn.ReLU())
        self.encoder1 = EncoderBottleneck(out_channels, out_channels * 2)
        self.encoder2 = EncoderBottleneck(out_channels * 2, out_channels * 4)
        self.vit = ViT(img_dim // 8, out_channels * 4, out_channels * 4, head_num, mlp_dim,
                       block_num)
        self.decoder1 = DecoderBottleneck(out_channels * 6, out_channels * 2)
        self.decoder2 = DecoderBottleneck(out_channels * 3, out_channels)
        self.decoder3 = DecoderBottleneck(out_channels, out_channels)
        self.conv = nn.Conv2d(out_channels, class_num, kernel_size=1)

    def forward(self, x):
        x1 = self.conv1(x)
        x2 = self.encoder1(x1)
        x3 = self.vit(self.encoder2(x2))
        x = self.decoder1(x3, x2)
        x = self.decoder2(x, x1)
        return self.conv(self.decoder3(x))


def dice_loss(inputs, targets, smooth=1.0):
    inputs, targets = torch.sigmoid(inputs).view(-1), targets.view(-1)
    intersection = (inputs * targets).sum()
    return 1 - (2. * intersection + smooth) / (inputs.sum() + targets.sum() + smooth)


def criterion(inputs, targets):
    bce = nn.functional.binary_cross_entropy_with_logits(inputs, targets)
    return 0.5 * bce + dice_loss(inputs, targets)


class LeavesDataset(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        t = torch.arange(32).float()
        self.items = []
        for _ in range(n):
            cy, cx = (8 + 16 * torch.rand(2, generator=g)).tolist()
            a = math.pi * torch.rand(1, generator=g).item()
            u = (t[None] - cx) * math.cos(a) + (t[:, None] - cy) * math.sin(a)
            v = -(t[None] - cx) * math.sin(a) + (t[:, None] - cy) * math.cos(a)
            mask = ((u / 9) ** 2 + (v / 4) ** 2 <= 1).float()
            img = 0.6 * mask + 0.35 * torch.randn(32, 32, generator=g)
            self.items.append((img[None], mask[None]))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def epoch_loop(model, loader, optimizer=None):
    model.train(optimizer is not None)
    total, inter, union = 0.0, 0.0, 0.0
    with torch.set_grad_enabled(optimizer is not None):
        for img, mask in loader:
            pred = model(img)
            loss = criterion(pred, mask)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item()
            inter += ((pred > 0) & (mask > 0)).sum().item()
            union += ((pred > 0) | (mask > 0)).sum().item()
    return total / len(loader), inter / max(union, 1)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=5)
    parser.add_argument('--learning_rate', type=float, default=0.02)
    parser.add_argument('--momentum', type=float, default=0.9)
    parser.add_argument('--weight_decay', type=float, default=1e-4)
    args = parser.parse_args()
    torch.manual_seed(0)
    train_loader = DataLoader(LeavesDataset(240, 0), batch_size=8, shuffle=True)
    test_loader = DataLoader(LeavesDataset(60, 1), batch_size=20)
    model = TransUNet()
    optimizer = SGD(model.parameters(), lr=args.learning_rate, momentum=args.momentum,
                    weight_decay=args.weight_decay)
    for epoch in range(args.epochs):
        train_loss, train_iou = epoch_loop(model, train_loader, optimizer)
        test_loss, test_iou = epoch_loop(model, test_loader)
        print(f'Epoch {epoch}: train {train_loss:.4f} iou {train_iou:.3f} '
              f'test {test_loss:.4f} iou {test_iou:.3f}')
