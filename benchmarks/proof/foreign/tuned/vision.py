"""Image models as people publish them; none declares an input."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class CifarNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), (2, 2))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.view(-1, self.num_flat_features(x))
        return self.fc2(F.relu(self.fc1(x)))

    def num_flat_features(self, x):
        n = 1
        for s in x.size()[1:]:
            n *= s
        return n


class ZFNetCaffe(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 7, stride=2)
        self.conv2 = nn.Conv2d(8, 12, 5, stride=2)
        self.fc = nn.Linear(12 * 12 * 12, 7)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 3, 2, ceil_mode=True)
        x = F.max_pool2d(F.relu(self.conv2(x)), 3, 2, ceil_mode=True)
        return self.fc(torch.flatten(x, start_dim=1))


class PlateReader(nn.Module):
    """licence plates: 48 x 192"""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3, padding=1),
            nn.MaxPool2d(2),
        )
        self.heads = nn.ModuleList([nn.Linear(8 * 12 * 48, 36) for _ in range(3)])

    def forward(self, x):
        x = self.features(x)
        x = x.reshape(-1, 8 * 12 * 48)
        return [h(x) for h in self.heads]


class ReshapeHard(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, stride=2, padding=1)
        self.lin = nn.Linear(12, 5)

    def forward(self, x):
        B = x.shape[0]
        x = self.conv(x)
        x = x.view(B, 4, 16, 12)
        return self.lin(x).mean((1, 2))


class ConvMixerGrid(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.stem = nn.Conv2d(3, dim, 7, stride=7)
        self.pos = nn.Parameter(torch.zeros(dim, 10, 20))
        self.dw = nn.Conv2d(dim, dim, 5, groups=dim, padding="same")
        self.fc = nn.Linear(dim, 3)

    def forward(self, img):
        x = self.stem(img) + self.pos
        return self.fc((x + self.dw(x)).mean(dim=[2, 3]))


class SpectrogramViT(nn.Module):
    """AST: a grid of 12 x 25 patches with overlap"""

    def __init__(self, fdim=12, tdim=25, dim=24):
        super().__init__()
        self.patch = nn.Conv2d(1, dim, kernel_size=(16, 16), stride=(10, 10))
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.dist_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.zeros(1, fdim * tdim + 2, dim))
        self.block = nn.TransformerEncoderLayer(dim, 4, 48, batch_first=True)
        self.head = nn.Linear(dim, 5)

    def forward(self, x):
        """
        :param x: the input spectrogram, expected shape: (batch_size, time_frame_num, frequency_bins)
        """
        x = x.unsqueeze(1)
        x = x.transpose(2, 3)
        x = self.patch(x).flatten(2).transpose(1, 2)
        B = x.shape[0]
        x = torch.cat(
            (self.cls_token.expand(B, -1, -1), self.dist_token.expand(B, -1, -1), x), dim=1
        )
        x = self.block(x + self.pos_embed)
        return self.head((x[:, 0] + x[:, 1]) / 2)


class PatchViTUnfold(nn.Module):
    def __init__(self, image_size=40, patch_size=10, dim=20, channels=3):
        super().__init__()
        self.patch_size = patch_size
        self.num_patches = (image_size // patch_size) ** 2
        self.to_embedding = nn.Linear(channels * patch_size**2, dim)
        self.pos_embedding = nn.Parameter(torch.randn(1, self.num_patches, dim))
        self.transformer = nn.TransformerEncoderLayer(dim, 4, 40, batch_first=True)
        self.mlp_head = nn.Linear(dim, 6)

    def forward(self, img):
        p = self.patch_size
        x = F.unfold(img, p, stride=p).transpose(1, 2)
        x = self.to_embedding(x)
        x += self.pos_embedding
        return self.mlp_head(self.transformer(x).mean(dim=1))


class ViTEinops(nn.Module):
    def __init__(self, p=4, dim=16):
        super().__init__()
        self.p = p
        self.patch_to_embedding = nn.Linear(3 * p * p, dim)
        self.pos = nn.Embedding(49, dim)
        self.att = nn.MultiheadAttention(dim, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        b, c, h, w = x.shape
        p = self.p
        x = (
            x.reshape(b, c, h // p, p, w // p, p)
            .permute(0, 2, 4, 3, 5, 1)
            .reshape(b, -1, p * p * c)
        )
        x = self.patch_to_embedding(x) + self.pos.weight
        return self.att(x, x, x)[0]


class CaptchaNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.linear1 = nn.Linear(8 * 11 * 36, 16)
        self.lstm = nn.GRU(16, 8, batch_first=True)

    def forward(self, images, targets=None):
        bs, _, _, _ = images.size()
        x = self.conv(images)
        x = x.flatten(1)
        x = self.linear1(x).unsqueeze(1)
        return self.lstm(x)[0]


class CRNNStrip(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_1 = nn.Conv2d(3, 8, kernel_size=(3, 6), padding=(1, 1))
        self.pool_1 = nn.MaxPool2d(kernel_size=(2, 2))
        self.conv_2 = nn.Conv2d(8, 4, kernel_size=(3, 6), padding=(1, 1))
        self.pool_2 = nn.MaxPool2d(kernel_size=(2, 2))
        self.linear_1 = nn.Linear(72, 16)
        self.gru = nn.GRU(16, 8, bidirectional=True, batch_first=True)
        self.output = nn.Linear(16, 20)

    def forward(self, images):
        bs, c, h, w = images.size()
        x = self.pool_1(F.relu(self.conv_1(images)))
        x = self.pool_2(F.relu(self.conv_2(x)))
        x = x.permute(0, 3, 1, 2)
        x = x.view(bs, x.size(1), -1)
        x = F.relu(self.linear_1(x))
        x, _ = self.gru(x)
        return self.output(x).permute(1, 0, 2)


class SwinStage(nn.Module):
    def __init__(self, dim=16, input_resolution=(24, 48), ws=8):
        super().__init__()
        self.res, self.ws = input_resolution, ws
        self.norm = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, dim * 3)
        self.reduction = nn.Linear(4 * dim, 2 * dim)

    def forward(self, x):
        H, W = self.res
        B, L, C = x.shape
        assert L == H * W, "input feature has wrong size"
        x = self.norm(x).view(B, H // self.ws, self.ws, W // self.ws, self.ws, C)
        win = x.permute(0, 1, 3, 2, 4, 5).reshape(-1, self.ws * self.ws, C)
        q, k, v = self.qkv(win).chunk(3, -1)
        win = F.scaled_dot_product_attention(q, k, v)
        x = (
            win.view(B, H // self.ws, W // self.ws, self.ws, self.ws, C)
            .permute(0, 1, 3, 2, 4, 5)
            .reshape(B, H, W, C)
        )
        x = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)
        return self.reduction(x.view(B, -1, 4 * C))


class Mnist1dCapsule(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 9)
        self.caps = nn.ModuleList([nn.Conv2d(16, 8, 9, 2) for _ in range(4)])
        self.route = nn.Parameter(torch.randn(10, 8 * 6 * 6, 4, 8))

    def forward(self, x, y=None):
        x = F.relu(self.conv(x))
        outputs = [c(x).view(x.size(0), -1, 1) for c in self.caps]
        x = torch.cat(outputs, dim=-1)
        x = x[None, :, :, None, :] @ self.route[:, None]
        return x.mean(2).squeeze(2).norm(dim=-1)


class SiameseOneShot(nn.Module):
    """Koch et al.: 105 x 105"""

    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 10),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 7),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 16, 4),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 4),
            nn.ReLU(),
        )
        self.liner = nn.Sequential(nn.Linear(32 * 6 * 6, 64), nn.Sigmoid())
        self.out = nn.Linear(64, 1)

    def forward_one(self, x):
        x = self.conv(x)
        x = x.view(x.size()[0], -1)
        return self.liner(x)

    def forward(self, x1, x2):
        return self.out(torch.abs(self.forward_one(x1) - self.forward_one(x2)))


class FaceKeypoints(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 5)
        self.conv2 = nn.Conv2d(4, 8, 5)
        self.pool = nn.MaxPool2d(4, 4)
        self.fc1 = nn.Linear(8 * 13 * 13, 32)
        self.fc2 = nn.Linear(32, 136)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.view(x.size(0), -1)
        return self.fc2(F.relu(self.fc1(x))).view(-1, 68, 2)


class UNet2D(nn.Module):
    def __init__(self, n_channels=1, n_classes=2, depth=5):
        super().__init__()
        ch = [4 * 2**i for i in range(depth)]
        self.down = nn.ModuleList(
            nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())
            for a, b in zip([n_channels, *ch], ch)
        )
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in zip(ch, ch[1:]))
        self.dec = nn.ModuleList(nn.Conv2d(2 * a, a, 3, padding=1) for a in ch[:-1])
        self.head = nn.Conv2d(ch[0], n_classes, 1)

    def forward(self, x):
        skips = []
        for i, d in enumerate(self.down):
            x = d(x if i == 0 else F.max_pool2d(x, 2))
            skips.append(x)
        for up, dec, s in zip(list(self.up)[::-1], list(self.dec)[::-1], skips[-2::-1]):
            x = dec(torch.cat([s, up(x)], 1))
        return self.head(x)


class UNetValid(nn.Module):
    """the original: no padding, crops"""

    def __init__(self):
        super().__init__()
        self.d1 = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.ReLU())
        self.d2 = nn.Sequential(nn.Conv2d(4, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU())
        self.d3 = nn.Sequential(nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU())
        self.d4 = nn.Sequential(nn.Conv2d(16, 32, 3), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.ReLU())
        self.u3, self.u2, self.u1 = (nn.ConvTranspose2d(c, c // 2, 2, 2) for c in (32, 16, 8))
        self.c3 = nn.Sequential(nn.Conv2d(32, 16, 3), nn.Conv2d(16, 16, 3))
        self.c2 = nn.Sequential(nn.Conv2d(16, 8, 3), nn.Conv2d(8, 8, 3))
        self.c1 = nn.Sequential(nn.Conv2d(8, 4, 3), nn.Conv2d(4, 2, 3))

    def crop(self, e, d):
        dh, dw = (e.shape[2] - d.shape[2]) // 2, (e.shape[3] - d.shape[3]) // 2
        return e[:, :, dh : dh + d.shape[2], dw : dw + d.shape[3]]

    def forward(self, image):
        a = self.d1(image)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.d3(F.max_pool2d(b, 2))
        x = self.u3(self.d4(F.max_pool2d(c, 2)))
        x = self.u2(self.c3(torch.cat([self.crop(c, x), x], 1)))
        x = self.u1(self.c2(torch.cat([self.crop(b, x), x], 1)))
        return self.c1(torch.cat([self.crop(a, x), x], 1))


class SlowFast(nn.Module):
    def __init__(self):
        super().__init__()
        self.slow = nn.Conv3d(3, 16, (1, 7, 7), (1, 2, 2), (0, 3, 3))
        self.fast = nn.Conv3d(3, 4, (5, 7, 7), (1, 2, 2), (2, 3, 3))
        self.lateral = nn.Conv3d(4, 8, (5, 1, 1), (8, 1, 1), (2, 0, 0))
        self.fc = nn.Linear(28, 6)

    def forward(self, x):
        slow, fast = x[:, :, ::8], x
        s, f = self.slow(slow), self.fast(fast)
        s = torch.cat([s, self.lateral(f)], 1)
        s, f = F.adaptive_avg_pool3d(s, 1).flatten(1), F.adaptive_avg_pool3d(f, 1).flatten(1)
        return self.fc(torch.cat([s, f], 1))


class VideoConv(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv3d(1, 4, 3)
        self.conv2 = nn.Conv3d(4, 8, 3)
        self.pool = nn.MaxPool3d(2)
        self.fc = nn.Linear(8 * 6 * 6 * 6, 10)

    def forward(self, voxels):
        x = self.pool(F.relu(self.conv1(voxels)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.view(-1, 8 * 6 * 6 * 6)
        return self.fc(x)


class SuperRes(nn.Module):
    def __init__(self, scale=4):
        super().__init__()
        self.head = nn.Conv2d(3, 16, 3, padding=1)
        self.up = nn.Sequential(nn.Conv2d(16, 16 * 4, 3, padding=1), nn.PixelShuffle(2))
        self.sub_mean = nn.Conv2d(3, 3, 1)
        self.tail = nn.Conv2d(16, 3, 3, padding=1)

    def forward(self, lr_image):
        x = self.head(self.sub_mean(lr_image))
        x = self.up(self.up(x))
        return self.tail(x)


class SpaceToDepth(nn.Module):
    def __init__(self, block=8):
        super().__init__()
        self.block = block
        self.fc = nn.Conv2d(3 * block * block, 8, 1)
        self.grid = nn.Parameter(torch.zeros(1, 8, 9, 5))

    def forward(self, x):
        x = F.pixel_unshuffle(x, self.block)
        return self.fc(x) + self.grid


class MAE(nn.Module):
    def __init__(self, img=24, p=4, dim=16):
        super().__init__()
        self.patch, self.img = p, img
        self.embed = nn.Linear(3 * p * p, dim)
        self.pos = nn.Parameter(torch.zeros(1, (img // p) ** 2, dim), requires_grad=False)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.dec = nn.Linear(dim, 3 * p * p)

    def patchify(self, imgs):
        """imgs: (N, 3, H, W) -> x: (N, L, patch_size**2 *3)"""
        p = self.patch
        assert imgs.shape[2] == imgs.shape[3] and imgs.shape[2] % p == 0
        h = w = imgs.shape[2] // p
        x = imgs.reshape(shape=(imgs.shape[0], 3, h, p, w, p))
        x = torch.einsum("nchpwq->nhwpqc", x)
        return x.reshape(shape=(imgs.shape[0], h * w, p**2 * 3))

    def forward(self, imgs, mask_ratio=0.75):
        x = self.embed(self.patchify(imgs)) + self.pos
        N, L, D = x.shape
        keep = int(L * (1 - mask_ratio))
        ids = torch.argsort(torch.rand(N, L, device=x.device), dim=1)
        restore = torch.argsort(ids, dim=1)
        x = torch.gather(x, 1, ids[:, :keep].unsqueeze(-1).repeat(1, 1, D))
        x = torch.cat([x, self.mask_token.repeat(N, L - keep, 1)], 1)
        return self.dec(torch.gather(x, 1, restore.unsqueeze(-1).repeat(1, 1, D)))


MODELS = (
    "CifarNet",
    "ZFNetCaffe",
    "PlateReader",
    "ReshapeHard",
    "ConvMixerGrid",
    "SpectrogramViT",
    "PatchViTUnfold",
    "ViTEinops",
    "CaptchaNet",
    "CRNNStrip",
    "SwinStage",
    "Mnist1dCapsule",
    "SiameseOneShot",
    "FaceKeypoints",
    "UNet2D",
    "UNetValid",
    "SlowFast",
    "VideoConv",
    "SuperRes",
    "SpaceToDepth",
    "MAE",
)
