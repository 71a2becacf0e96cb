"""Image models as people publish them; none declares an input."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class LeNet5(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, num_classes)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.view(-1, 16 * 5 * 5)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


class MnistNet(nn.Module):
    # the network of the PyTorch examples
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, 1)
        self.conv2 = nn.Conv2d(32, 64, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(9216, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.max_pool2d(x, 2)
        x = self.dropout1(x)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = self.dropout2(x)
        return F.log_softmax(self.fc2(x), dim=1)


class DrivingNet(nn.Module):
    """End to end learning for self-driving cars; the camera gives 66 x 200."""

    def __init__(self):
        super().__init__()
        self.conv_layers = nn.Sequential(
            nn.Conv2d(3, 24, 5, stride=2),
            nn.ELU(),
            nn.Conv2d(24, 36, 5, stride=2),
            nn.ELU(),
            nn.Conv2d(36, 48, 5, stride=2),
            nn.ELU(),
            nn.Conv2d(48, 64, 3),
            nn.ELU(),
            nn.Conv2d(64, 64, 3),
            nn.Dropout(0.5),
        )
        self.linear_layers = nn.Sequential(
            nn.Linear(64 * 1 * 18, 100),
            nn.ELU(),
            nn.Linear(100, 50),
            nn.ELU(),
            nn.Linear(50, 10),
            nn.Linear(10, 1),
        )

    def forward(self, image):
        image = image / 127.5 - 1.0
        output = self.conv_layers(image)
        output = output.reshape(output.size(0), -1)
        return self.linear_layers(output)


class AlexNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 11, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2),
            nn.Conv2d(16, 32, 5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2),
            nn.Conv2d(32, 48, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2),
        )
        self.classifier = nn.Sequential(
            nn.Dropout(), nn.Linear(48 * 6 * 6, 64), nn.ReLU(inplace=True), nn.Linear(64, 10)
        )

    def forward(self, x):
        x = self.features(x)
        x = x.view(x.size(0), 48 * 6 * 6)
        return self.classifier(x)


class PatchEmbed(nn.Module):
    def __init__(self, img_size=(64, 32), patch=(8, 8), dim=32):
        super().__init__()
        self.img_size = img_size
        self.num_patches = (img_size[0] // patch[0]) * (img_size[1] // patch[1])
        self.proj = nn.Conv2d(3, dim, patch, stride=patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch_embed = PatchEmbed()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, 32))
        self.pos_embed = nn.Parameter(torch.randn(1, self.patch_embed.num_patches + 1, 32) * 0.02)
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(32)
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        B = x.shape[0]
        x = self.patch_embed(x)
        cls = self.cls_token.expand(B, -1, -1)
        x = torch.cat((cls, x), dim=1)
        x = x + self.pos_embed
        x = self.norm(self.blocks(x))
        return self.head(x[:, 0])


class MlpMixer(nn.Module):
    def __init__(self, image_size=48, patch=8, dim=24):
        super().__init__()
        n = (image_size // patch) ** 2
        self.embed = nn.Conv2d(3, dim, patch, patch)
        self.token_norm = nn.LayerNorm(dim)
        self.token_mix = nn.Sequential(nn.Linear(n, 2 * n), nn.GELU(), nn.Linear(2 * n, n))
        self.channel_mix = nn.Sequential(
            nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim)
        )
        self.head = nn.Linear(dim, 10)

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2)
        y = self.token_norm(x).transpose(1, 2)
        x = x + self.token_mix(y).transpose(1, 2)
        x = x + self.channel_mix(x)
        return self.head(x.mean(1))


def window_partition(x, window_size):
    """(B, H, W, C) -> (num_windows*B, window_size, window_size, C)"""
    B, H, W, C = x.shape
    x = x.view(B, H // window_size, window_size, W // window_size, window_size, C)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, window_size, window_size, C)


class WindowAttentionNet(nn.Module):
    def __init__(self, dim=24, window_size=7, heads=3):
        super().__init__()
        self.window_size = window_size
        self.heads = heads
        self.stem = nn.Conv2d(3, dim, 4, 4)
        self.norm = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.bias = nn.Parameter(torch.zeros(heads, window_size**2, window_size**2))
        self.proj = nn.Linear(dim, dim)
        self.head = nn.Linear(dim, 10)

    def forward(self, x):
        x = self.stem(x).permute(0, 2, 3, 1)
        B, H, W, C = x.shape
        x = window_partition(self.norm(x), self.window_size).view(-1, self.window_size**2, C)
        n = x.shape[1]
        qkv = self.qkv(x).reshape(-1, n, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        attn = (q @ k.transpose(-2, -1)) / math.sqrt(C // self.heads) + self.bias.unsqueeze(0)
        x = (attn.softmax(-1) @ v).transpose(1, 2).reshape(-1, n, C)
        x = self.proj(x).view(B, -1, C)
        return self.head(x.mean(1))


class SpatialTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.localization = nn.Sequential(
            nn.Conv2d(1, 8, kernel_size=7),
            nn.MaxPool2d(2, stride=2),
            nn.ReLU(True),
            nn.Conv2d(8, 10, kernel_size=5),
            nn.MaxPool2d(2, stride=2),
            nn.ReLU(True),
        )
        self.fc_loc = nn.Sequential(nn.Linear(10 * 3 * 3, 32), nn.ReLU(True), nn.Linear(32, 6))
        self.conv1 = nn.Conv2d(1, 10, kernel_size=5)
        self.conv2 = nn.Conv2d(10, 20, kernel_size=5)
        self.fc1 = nn.Linear(320, 50)
        self.fc2 = nn.Linear(50, 10)

    def stn(self, x):
        xs = self.localization(x)
        xs = xs.view(-1, 10 * 3 * 3)
        theta = self.fc_loc(xs)
        theta = theta.view(-1, 2, 3)
        grid = F.affine_grid(theta, x.size(), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)

    def forward(self, x):
        x = self.stn(x)
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2(x), 2))
        x = x.view(-1, 320)
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


class ESPCN(nn.Module):
    def __init__(self, upscale_factor=3):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 5, padding=2)
        self.conv2 = nn.Conv2d(16, upscale_factor**2, 3, padding=1)
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)

    def forward(self, lr):
        return self.pixel_shuffle(self.conv2(torch.tanh(self.conv1(lr))))


class CRNN(nn.Module):
    """OCR: the height of the line must be 32."""

    def __init__(self, n_channels=1, n_classes=37, hidden=16):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(n_channels, 8, 3, 1, 1),
            nn.ReLU(True),
            nn.MaxPool2d(2, 2),
            nn.Conv2d(8, 16, 3, 1, 1),
            nn.ReLU(True),
            nn.MaxPool2d(2, 2),
            nn.Conv2d(16, 16, 3, 1, 1),
            nn.ReLU(True),
            nn.MaxPool2d((2, 2), (2, 1), (0, 1)),
            nn.Conv2d(16, 16, 3, 1, 1),
            nn.ReLU(True),
            nn.MaxPool2d((2, 2), (2, 1), (0, 1)),
            nn.Conv2d(16, 16, 2, 1, 0),
            nn.ReLU(True),
        )
        self.rnn = nn.LSTM(16, hidden, bidirectional=True)
        self.embedding = nn.Linear(hidden * 2, n_classes)

    def forward(self, input):
        conv = self.cnn(input)
        b, c, h, w = conv.size()
        assert h == 1, "the height of conv must be 1"
        conv = conv.squeeze(2)
        conv = conv.permute(2, 0, 1)
        output, _ = self.rnn(conv)
        T, b, h = output.size()
        return self.embedding(output.view(T * b, h)).view(T, b, -1)


class CapsNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 9)
        self.primary = nn.Conv2d(32, 32, 9, stride=2)
        self.W = nn.Parameter(torch.randn(4 * 6 * 6, 10, 16, 8) * 0.01)

    @staticmethod
    def squash(s):
        norm = s.norm(dim=-1, keepdim=True)
        return s * norm / (1 + norm**2)

    def forward(self, x):
        batch_size = x.size(0)
        x = F.relu(self.conv1(x))
        u = self.primary(x).view(batch_size, 4, 8, 36)
        u = self.squash(u.permute(0, 1, 3, 2).reshape(batch_size, -1, 8))
        u_hat = torch.einsum("nkij,bnj->bnki", self.W, u)
        b = torch.zeros(batch_size, u.size(1), 10, device=x.device)
        for _ in range(3):
            c = b.softmax(-1)
            v = self.squash((c.unsqueeze(-1) * u_hat).sum(1))
            b = b + (u_hat * v.unsqueeze(1)).sum(-1)
        return v.norm(dim=-1)


class TwoStream(nn.Module):
    def __init__(self):
        super().__init__()
        self.spatial = nn.Sequential(nn.Conv2d(3, 8, 7, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.temporal = nn.Sequential(nn.Conv2d(20, 8, 7, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.fc = nn.Linear(16, 5)

    def forward(self, rgb, flow):
        s = self.spatial(rgb).flatten(1)
        t = self.temporal(flow).flatten(1)
        return self.fc(torch.cat([s, t], 1))


class C3D(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv3d(3, 8, (3, 3, 3), padding=1)
        self.pool1 = nn.MaxPool3d((1, 2, 2), (1, 2, 2))
        self.conv2 = nn.Conv3d(8, 16, (3, 3, 3), padding=1)
        self.pool2 = nn.MaxPool3d((2, 2, 2), (2, 2, 2))
        self.conv3 = nn.Conv3d(16, 16, (3, 3, 3), padding=1)
        self.pool3 = nn.MaxPool3d((2, 2, 2), (2, 2, 2), padding=(0, 1, 1))
        self.fc6 = nn.Linear(16 * 4 * 15 * 15, 32)
        self.fc8 = nn.Linear(32, 10)

    def forward(self, x):
        h = self.pool1(F.relu(self.conv1(x)))
        h = self.pool2(F.relu(self.conv2(h)))
        h = self.pool3(F.relu(self.conv3(h)))
        h = h.view(-1, 16 * 4 * 15 * 15)
        return self.fc8(F.relu(self.fc6(h)))


class VideoTransformer(nn.Module):
    """frames: (batch, time, channels, height, width)"""

    def __init__(self, frames=8, size=32, patch=16, dim=32):
        super().__init__()
        self.to_patch = nn.Conv2d(3, dim, patch, patch)
        n = (size // patch) ** 2
        self.pos = nn.Parameter(torch.randn(1, frames, n, dim))
        self.spatial = nn.TransformerEncoderLayer(dim, 4, 64, batch_first=True)
        self.temporal = nn.TransformerEncoderLayer(dim, 4, 64, batch_first=True)
        self.fc = nn.Linear(dim, 7)

    def forward(self, video):
        b, t, c, h, w = video.shape
        x = self.to_patch(video.reshape(b * t, c, h, w)).flatten(2).transpose(1, 2)
        x = x.reshape(b, t, x.shape[1], -1) + self.pos
        n = x.shape[2]
        x = self.spatial(x.flatten(0, 1)).mean(1).reshape(b, t, -1)
        return self.fc(self.temporal(x).mean(1))


class UNet3D(nn.Module):
    def __init__(self, in_ch=1, out_ch=2, f=4):
        super().__init__()
        self.enc1 = nn.Sequential(
            nn.Conv3d(in_ch, f, 3, padding=1), nn.InstanceNorm3d(f), nn.ReLU()
        )
        self.enc2 = nn.Sequential(
            nn.Conv3d(f, 2 * f, 3, padding=1), nn.InstanceNorm3d(2 * f), nn.ReLU()
        )
        self.enc3 = nn.Sequential(nn.Conv3d(2 * f, 4 * f, 3, padding=1), nn.ReLU())
        self.up2 = nn.ConvTranspose3d(4 * f, 2 * f, 2, 2)
        self.dec2 = nn.Conv3d(4 * f, 2 * f, 3, padding=1)
        self.up1 = nn.ConvTranspose3d(2 * f, f, 2, 2)
        self.dec1 = nn.Conv3d(2 * f, out_ch, 3, padding=1)

    def forward(self, vol):
        e1 = self.enc1(vol)
        e2 = self.enc2(F.max_pool3d(e1, 2))
        e3 = self.enc3(F.max_pool3d(e2, 2))
        d2 = F.relu(self.dec2(torch.cat([self.up2(e3), e2], 1)))
        return self.dec1(torch.cat([self.up1(d2), e1], 1))


class FixedGridYolo(nn.Module):
    def __init__(self, S=7, B=2, C=3):
        super().__init__()
        self.S, self.B, self.C = S, B, C
        layers, ch = [], 3
        for width in (8, 8, 16, 16, 16, 16):
            layers += [nn.Conv2d(ch, width, 3, 2, 1), nn.BatchNorm2d(width), nn.LeakyReLU(0.1)]
            ch = width
        self.darknet = nn.Sequential(*layers)
        self.fcs = nn.Sequential(
            nn.Flatten(),
            nn.Linear(16 * S * S, 64),
            nn.LeakyReLU(0.1),
            nn.Linear(64, S * S * (C + B * 5)),
        )

    def forward(self, x):
        return self.fcs(self.darknet(x)).view(-1, self.S, self.S, self.C + self.B * 5)


class PerceiverIO(nn.Module):
    def __init__(self, dim=16, latents=8):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(latents, dim))
        self.embed = nn.Linear(3, dim)
        self.pos = nn.Parameter(torch.randn(20 * 20, dim))
        self.cross = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.self_attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.out = nn.Linear(dim, 4)

    def forward(self, img):
        # img: B H W C
        b = img.shape[0]
        tokens = self.embed(img.flatten(1, 2)) + self.pos
        z = self.latents.unsqueeze(0).repeat(b, 1, 1)
        z = z + self.cross(z, tokens, tokens)[0]
        z = z + self.self_attn(z, z, z)[0]
        return self.out(z.mean(1))


MODELS = (
    "LeNet5",
    "MnistNet",
    "DrivingNet",
    "AlexNet",
    "ViT",
    "MlpMixer",
    "WindowAttentionNet",
    "SpatialTransformer",
    "ESPCN",
    "CRNN",
    "CapsNet",
    "TwoStream",
    "C3D",
    "VideoTransformer",
    "UNet3D",
    "FixedGridYolo",
    "PerceiverIO",
)
