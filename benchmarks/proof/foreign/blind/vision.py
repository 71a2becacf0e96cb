"""Models of images and points as people publish them, each with an ordinary batch."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.checkpoint as cp
from torch.nn.utils import spectral_norm


class DoubleConv(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, out_channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(out_channels, out_channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.double_conv(x)


class UNetSkips(nn.Module):
    def __init__(self, n_channels=3, n_classes=2, width=8):
        super().__init__()
        self.inc = DoubleConv(n_channels, width)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(width, 2 * width))
        self.down2 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(2 * width, 4 * width))
        self.up1 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.conv1 = DoubleConv(4 * width, 2 * width)
        self.up2 = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.conv2 = DoubleConv(2 * width, width)
        self.outc = nn.Conv2d(width, n_classes, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x = self.conv1(torch.cat([x2, self.up1(x3)], dim=1))
        x = self.conv2(torch.cat([x1, self.up2(x)], dim=1))
        return self.outc(x)


def drop_path(x, drop_prob, training):
    if drop_prob == 0.0 or not training:
        return x
    keep = 1 - drop_prob
    mask = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(keep)
    return x * mask.div_(keep)


class StochasticBlock(nn.Module):
    def __init__(self, channels, drop):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.drop = drop

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return F.relu(x + drop_path(out, self.drop, self.training))


class StochasticDepthResNet(nn.Module):
    def __init__(self, depth=6, width=16, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, stride=2, padding=1)
        self.blocks = nn.ModuleList(
            StochasticBlock(width, 0.2 * i / (depth - 1)) for i in range(depth)
        )
        self.fc = nn.Linear(width, classes)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.fc(x.mean(dim=(2, 3)))


class PerceiverIO(nn.Module):
    def __init__(self, dim=32, latents=8, depth=3, out=5):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(latents, dim) * 0.02)
        self.project = nn.Linear(6, dim)
        self.cross = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, 4, 64, batch_first=True, norm_first=True, dropout=0.0)
            for _ in range(depth)
        )
        self.queries = nn.Parameter(torch.randn(1, dim) * 0.02)
        self.decode = nn.MultiheadAttention(dim, 1, batch_first=True)
        self.to_logits = nn.Linear(dim, out)

    def forward(self, x, mask=None):
        b = x.shape[0]
        z = self.latents.expand(b, -1, -1)
        context = self.project(x)
        z = z + self.cross(self.norm(z), context, context, need_weights=False)[0]
        for layer in self.layers:
            z = layer(z)
        q = self.queries.expand(b, -1, -1)
        return self.to_logits(self.decode(q, z, z)[0]).squeeze(1)


class ViTWithClsToken(nn.Module):
    def __init__(self, image=32, patch=8, dim=48, depth=3, heads=4, classes=10):
        super().__init__()
        n = (image // patch) ** 2
        self.patch_embed = nn.Conv2d(3, dim, patch, patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.randn(1, n + 1, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(
            dim, heads, 2 * dim, dropout=0.1, activation="gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1) + self.pos_embed
        return self.head(self.norm(self.blocks(x))[:, 0])


class DenseLayer(nn.Module):
    def __init__(self, channels, growth):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv1 = nn.Conv2d(channels, 4 * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def bottleneck(self, *features):
        return self.conv1(F.relu(self.norm1(torch.cat(features, 1))))

    def forward(self, features):
        if any(f.requires_grad for f in features):
            out = cp.checkpoint(self.bottleneck, *features, use_reentrant=False)
        else:
            out = self.bottleneck(*features)
        return self.conv2(F.relu(self.norm2(out)))


class CheckpointedDenseNet(nn.Module):
    def __init__(self, growth=6, layers=4, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(3, 12, 3, padding=1)
        self.layers = nn.ModuleList(DenseLayer(12 + i * growth, growth) for i in range(layers))
        self.norm = nn.BatchNorm2d(12 + layers * growth)
        self.classifier = nn.Linear(12 + layers * growth, classes)

    def forward(self, x):
        features = [self.stem(x)]
        for layer in self.layers:
            features.append(layer(features))
        out = F.relu(self.norm(torch.cat(features, 1)), inplace=True)
        return self.classifier(F.adaptive_avg_pool2d(out, 1).flatten(1))


class SpectralDiscriminator(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.main = nn.Sequential(
            spectral_norm(nn.Conv2d(3, width, 4, 2, 1)),
            nn.LeakyReLU(0.2, inplace=True),
            spectral_norm(nn.Conv2d(width, 2 * width, 4, 2, 1)),
            nn.LeakyReLU(0.2, inplace=True),
            spectral_norm(nn.Conv2d(2 * width, 4 * width, 4, 2, 1)),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(4 * width, 1, 4, 1, 0),
        )

    def forward(self, image):
        return self.main(image).view(-1)


class WSConv2d(nn.Conv2d):
    def forward(self, x):
        w = self.weight
        mean = w.mean(dim=(1, 2, 3), keepdim=True)
        std = w.std(dim=(1, 2, 3), keepdim=True) + 1e-5
        return F.conv2d(x, (w - mean) / std, self.bias, self.stride, self.padding)


class GroupNormWS(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.net = nn.Sequential(
            WSConv2d(3, 16, 3, padding=1),
            nn.GroupNorm(4, 16),
            nn.SiLU(),
            WSConv2d(16, 32, 3, stride=2, padding=1),
            nn.GroupNorm(8, 32),
            nn.SiLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.fc = nn.Linear(32, classes)

    def forward(self, x):
        return self.fc(self.net(x))


class CumulativeBatchNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.bn = nn.BatchNorm2d(8, momentum=None)
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return self.fc(F.relu(self.bn(self.conv(x))).amax((2, 3)))


class TNet(nn.Module):
    def __init__(self, k=3):
        super().__init__()
        self.k = k
        self.conv1 = nn.Conv1d(k, 16, 1)
        self.conv2 = nn.Conv1d(16, 32, 1)
        self.fc1 = nn.Linear(32, 16)
        self.fc2 = nn.Linear(16, k * k)
        nn.init.zeros_(self.fc2.weight)
        nn.init.zeros_(self.fc2.bias)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = torch.max(x, 2)[0]
        x = self.fc2(F.relu(self.fc1(x)))
        identity = torch.eye(self.k, device=x.device).flatten()
        return (x + identity).view(-1, self.k, self.k)


class PointNet(nn.Module):
    def __init__(self, classes=8):
        super().__init__()
        self.tnet = TNet(3)
        self.conv1 = nn.Conv1d(3, 32, 1)
        self.bn1 = nn.BatchNorm1d(32)
        self.conv2 = nn.Conv1d(32, 64, 1)
        self.bn2 = nn.BatchNorm1d(64)
        self.fc1 = nn.Linear(64, 32)
        self.dropout = nn.Dropout(0.3)
        self.fc2 = nn.Linear(32, classes)

    def forward(self, points):
        x = points.transpose(2, 1)
        x = torch.bmm(x.transpose(2, 1), self.tnet(x)).transpose(2, 1)
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.bn2(self.conv2(x))
        x = torch.max(x, 2)[0]
        return F.log_softmax(self.fc2(self.dropout(F.relu(self.fc1(x)))), dim=1)


def squash(s, dim=-1):
    norm = (s**2).sum(dim, keepdim=True)
    return norm / (1 + norm) * s / (norm.sqrt() + 1e-8)


class CapsuleNet(nn.Module):
    def __init__(self, classes=5, routings=3):
        super().__init__()
        self.routings = routings
        self.conv1 = nn.Conv2d(1, 16, 5)
        self.primary = nn.Conv2d(16, 32, 5, stride=2)
        self.W = nn.Parameter(0.1 * torch.randn(1, 4 * 100, classes, 8, 8))

    def forward(self, x):
        x = self.primary(F.relu(self.conv1(x)))
        u = squash(x.view(x.size(0), -1, 8))
        u_hat = (self.W @ u[:, :, None, :, None]).squeeze(-1)
        temp = u_hat.detach()
        b = torch.zeros(*u_hat.shape[:3], 1, device=x.device)
        for i in range(self.routings - 1):
            c = F.softmax(b, dim=2)
            v = squash((c * temp).sum(dim=1))
            b = b + (temp * v.unsqueeze(1)).sum(-1, keepdim=True)
        c = F.softmax(b, dim=2)
        v = squash((c * u_hat).sum(dim=1))
        return v.norm(dim=-1)


class SqueezeExcite(nn.Module):
    def __init__(self, c, r=4):
        super().__init__()
        self.fc1 = nn.Conv2d(c, c // r, 1)
        self.fc2 = nn.Conv2d(c // r, c, 1)

    def forward(self, x):
        s = F.adaptive_avg_pool2d(x, 1)
        return x * torch.sigmoid(self.fc2(F.relu(self.fc1(s))))


class InvertedResidualNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish()
        )
        self.expand = nn.Sequential(nn.Conv2d(8, 32, 1, bias=False), nn.BatchNorm2d(32))
        self.depthwise = nn.Sequential(
            nn.Conv2d(32, 32, 3, 1, 1, groups=32, bias=False), nn.BatchNorm2d(32)
        )
        self.se = SqueezeExcite(32)
        self.project = nn.Sequential(nn.Conv2d(32, 8, 1, bias=False), nn.BatchNorm2d(8))
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        x = self.stem(x)
        y = F.hardswish(self.expand(x))
        y = self.se(F.hardswish(self.depthwise(y)))
        x = x + self.project(y)
        return self.head(x.mean([2, 3]))


class SpatialTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.localization = nn.Sequential(
            nn.Conv2d(1, 8, 7), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(8, 10, 5), nn.MaxPool2d(2),
            nn.ReLU(),
        )  # fmt: skip
        self.fc_loc = nn.Sequential(nn.Linear(10 * 9, 32), nn.ReLU(), nn.Linear(32, 6))
        self.fc_loc[2].weight.data.zero_()
        self.fc_loc[2].bias.data.copy_(torch.tensor([1, 0, 0, 0, 1, 0], dtype=torch.float))
        self.conv = nn.Conv2d(1, 10, 5)
        self.fc = nn.Linear(10 * 12 * 12, 10)

    def stn(self, x):
        theta = self.fc_loc(self.localization(x).view(-1, 90)).view(-1, 2, 3)
        grid = F.affine_grid(theta, x.size(), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv(self.stn(x)), 2))
        return F.log_softmax(self.fc(x.view(-1, 10 * 144)), dim=1)


class AuxiliaryHead(nn.Module):
    """Two heads, of which the second is used only in training."""

    def __init__(self):
        super().__init__()
        self.stage1 = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(True))
        self.stage2 = nn.Sequential(nn.Conv2d(8, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(True))
        self.head = nn.Linear(16, 4)
        self.aux = nn.Linear(8, 4)

    def forward(self, x):
        low = self.stage1(x)
        out = self.head(self.stage2(low).mean((2, 3)))
        if self.training:
            return out, self.aux(low.mean((2, 3)))
        return out


class SwinLikeShift(nn.Module):
    def __init__(self, dim=16, window=4):
        super().__init__()
        self.window = window
        self.embed = nn.Conv2d(3, dim, 2, 2)
        self.norm = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.bias_table = nn.Parameter(torch.zeros((2 * window - 1) ** 2, 4))
        coords = torch.stack(
            torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")
        ).flatten(1)
        relative = (coords[:, :, None] - coords[:, None, :]).permute(1, 2, 0) + window - 1
        self.register_buffer("index", relative[..., 0] * (2 * window - 1) + relative[..., 1])
        nn.init.trunc_normal_(self.bias_table, std=0.02)
        self.proj = nn.Linear(dim, dim)
        self.head = nn.Linear(dim, 6)

    def forward(self, x):
        x = self.embed(x).permute(0, 2, 3, 1)
        b, h, w, c = x.shape
        m = self.window
        y = torch.roll(self.norm(x), (-m // 2, -m // 2), dims=(1, 2))
        y = y.view(b, h // m, m, w // m, m, c).transpose(2, 3).reshape(-1, m * m, c)
        q, k, v = self.qkv(y).view(-1, m * m, 3, 4, c // 4).permute(2, 0, 3, 1, 4)
        bias = self.bias_table[self.index.view(-1)].view(m * m, m * m, -1).permute(2, 0, 1)
        attn = (q @ k.transpose(-1, -2) * (c // 4) ** -0.5 + bias).softmax(-1)
        y = self.proj((attn @ v).transpose(1, 2).reshape(-1, m * m, c))
        y = y.view(b, h // m, w // m, m, m, c).transpose(2, 3).reshape(b, h, w, c)
        x = x + torch.roll(y, (m // 2, m // 2), dims=(1, 2))
        return self.head(x.mean((1, 2)))


class ContrastivePair(nn.Module):
    """A CLIP-like pair of encoders with a learned temperature; logits between all pairs."""

    def __init__(self, dim=16):
        super().__init__()
        self.image = nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, 32), nn.ReLU())
        self.image_proj = nn.Linear(32, dim, bias=False)
        self.text = nn.EmbeddingBag(50, 32)
        self.text_proj = nn.Linear(32, dim, bias=False)
        self.logit_scale = nn.Parameter(torch.tensor(2.6592))

    def forward(self, image, text):
        i = F.normalize(self.image_proj(self.image(image)), dim=-1)
        t = F.normalize(self.text_proj(self.text(text)), dim=-1)
        return self.logit_scale.exp() * i @ t.t()


BATCHES = {
    "UNetSkips": "2x3x32x32",
    "StochasticDepthResNet": "4x3x32x32",
    "PerceiverIO": "3x20x6",
    "ViTWithClsToken": "2x3x32x32",
    "CheckpointedDenseNet": "4x3x16x16",
    "SpectralDiscriminator": "4x3x32x32",
    "GroupNormWS": "2x3x16x16",
    "CumulativeBatchNorm": "4x3x16x16",
    "PointNet": "4x64x3",
    "CapsuleNet": "2x1x28x28",
    "InvertedResidualNet": "4x3x32x32",
    "SpatialTransformer": "2x1x28x28",
    "AuxiliaryHead": "4x3x16x16",
    "SwinLikeShift": "2x3x16x16",
    "ContrastivePair": "4x3x16x16 4x7:int64:0..50",
}
