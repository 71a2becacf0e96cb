r"""Vision transformer written step by step, on small images with a bright bar.

Source: https://github.com/FrancescoSaverioZuppichini/ViT/issues/7
Healthy: the class token is repeated for each image of the batch; repeat keeps the graph, so the
    gradients of all images add up in the one token (expand would do the same without a copy).
"""
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


class PatchEmbedding(nn.Module):
    def __init__(self, in_channels: int = 3, patch_size: int = 4, emb_size: int = 48,
                 img_size: int = 16):
        super().__init__()
        self.patch_size = patch_size
        self.projection = nn.Conv2d(in_channels, emb_size, kernel_size=patch_size,
                                    stride=patch_size)
        self.cls_token = nn.Parameter(torch.randn(1, 1, emb_size))
        self.positions = nn.Parameter(torch.randn((img_size // patch_size) ** 2 + 1, emb_size))

    def forward(self, x: Tensor) -> Tensor:
        b = x.shape[0]
        x = self.projection(x).flatten(2).transpose(1, 2)
        cls_tokens = self.cls_token.repeat(b, 1, 1)
        x = torch.cat([cls_tokens, x], dim=1)
        x += self.positions
        return x


class MultiHeadAttention(nn.Module):
    def __init__(self, emb_size: int = 48, num_heads: int = 4, dropout: float = 0):
        super().__init__()
        self.emb_size = emb_size
        self.num_heads = num_heads
        self.qkv = nn.Linear(emb_size, emb_size * 3)
        self.att_drop = nn.Dropout(dropout)
        self.projection = nn.Linear(emb_size, emb_size)

    def forward(self, x: Tensor) -> Tensor:
        b, n, _ = x.shape
        d = self.emb_size // self.num_heads
        qkv = self.qkv(x).view(b, n, self.num_heads, d, 3).permute(4, 0, 2, 1, 3)
        queries, keys, values = qkv[0], qkv[1], qkv[2]
        energy = torch.einsum('bhqd, bhkd -> bhqk', queries, keys)
        scaling = d ** 0.5
        att = F.softmax(energy / scaling, dim=-1)
        att = self.att_drop(att)
        out = torch.einsum('bhal, bhlv -> bhav', att, values)
        out = out.transpose(1, 2).reshape(b, n, self.emb_size)
        return self.projection(out)


class ResidualAdd(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x, **kwargs):
        res = x
        x = self.fn(x, **kwargs)
        x += res
        return x


class FeedForwardBlock(nn.Sequential):
    def __init__(self, emb_size: int, expansion: int = 4, drop_p: float = 0.):
        super().__init__(
            nn.Linear(emb_size, expansion * emb_size),
            nn.GELU(),
            nn.Dropout(drop_p),
            nn.Linear(expansion * emb_size, emb_size),
        )


class TransformerEncoderBlock(nn.Sequential):
    def __init__(self, emb_size: int = 48, drop_p: float = 0., forward_expansion: int = 4,
                 forward_drop_p: float = 0., **kwargs):
        super().__init__(
            ResidualAdd(nn.Sequential(
                nn.LayerNorm(emb_size),
                MultiHeadAttention(emb_size, **kwargs),
                nn.Dropout(drop_p)
            )),
            ResidualAdd(nn.Sequential(
                nn.LayerNorm(emb_size),
                FeedForwardBlock(emb_size, expansion=forward_expansion, drop_p=forward_drop_p),
                nn.Dropout(drop_p)
            )))


class TransformerEncoder(nn.Sequential):
    def __init__(self, depth: int = 2, **kwargs):
        super().__init__(*[TransformerEncoderBlock(**kwargs) for _ in range(depth)])


class ClassificationHead(nn.Module):
    def __init__(self, emb_size: int = 48, n_classes: int = 4):
        super().__init__()
        self.norm = nn.LayerNorm(emb_size)
        self.fc = nn.Linear(emb_size, n_classes)

    def forward(self, x):
        return self.fc(self.norm(x.mean(dim=1)))


class ViT(nn.Sequential):
    def __init__(self, in_channels: int = 3, patch_size: int = 4, emb_size: int = 48,
                 img_size: int = 16, depth: int = 2, n_classes: int = 4, **kwargs):
        super().__init__(
            PatchEmbedding(in_channels, patch_size, emb_size, img_size),
            TransformerEncoder(depth, emb_size=emb_size, **kwargs),
            ClassificationHead(emb_size, n_classes)
        )


def bars(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = 0.3 * torch.randn(n, 3, 16, 16, generator=g)
    y = torch.randint(0, 4, (n,), generator=g)
    color = torch.randint(0, 3, (n,), generator=g)
    for i in range(n):
        k = 5 * torch.randint(1, 3, (1,), generator=g).item()
        if y[i] == 0:
            x[i, color[i], k, :] += 1.5
        elif y[i] == 1:
            x[i, color[i], :, k] += 1.5
        elif y[i] == 2:
            x[i, color[i]] += 1.5 * torch.eye(16)
        else:
            x[i, color[i]] += 1.5 * torch.eye(16).flip(1)
    return TensorDataset(x, y)


if __name__ == '__main__':
    torch.manual_seed(0)
    train_dl = DataLoader(bars(960, 1), batch_size=40, shuffle=True)
    test_dl = DataLoader(bars(300, 2), batch_size=150)
    model = ViT(drop_p=0.05, num_heads=4)
    print('parameters', sum(p.numel() for p in model.parameters()))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-3)
    for epoch in range(5):
        model.train()
        total = 0.
        for x, y in train_dl:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            acc = sum((model(x).argmax(1) == y).sum().item() for x, y in test_dl) / 300
        print('epoch %d loss %.4f test accuracy %.3f' % (epoch, total / len(train_dl), acc))
