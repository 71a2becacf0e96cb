"""In the style of timm's train.py: mixup, drop path, layer decay, a moving average, meters."""

import copy
import json

import numpy as np
import torch
from torch import nn

torch.manual_seed(35)
np.random.seed(35)


class DropPath(nn.Module):
    def __init__(self, drop_prob):
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x):
        if not self.training or not self.drop_prob:
            return x
        keep = 1 - self.drop_prob
        return x * x.new_empty(x.shape[0], 1, 1).bernoulli_(keep) / keep


class Block(nn.Module):
    def __init__(self, dim, drop_path):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.ls1 = nn.Parameter(1e-5 * torch.ones(dim))
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.ls2 = nn.Parameter(1e-5 * torch.ones(dim))
        self.drop_path = DropPath(drop_path)

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.drop_path(self.ls1 * self.attn(y, y, y, need_weights=False)[0])
        return x + self.drop_path(self.ls2 * self.mlp(self.norm2(x)))


class VisionTransformer(nn.Module):
    def __init__(self, dim=32, depth=2, classes=4):
        super().__init__()
        self.patch_embed = nn.Conv2d(1, dim, 4, 4)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.randn(1, 5, dim) * 0.02)
        self.blocks = nn.Sequential(*[Block(dim, 0.1 * i) for i in range(depth)])
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)
        nn.init.zeros_(self.head.weight)

    def forward_features(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1)
        return self.norm(self.blocks(x + self.pos_embed))

    def forward(self, x):
        return self.head(self.forward_features(x)[:, 1:].mean(1))


class AverageMeter:
    def __init__(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val, self.sum, self.count = val, self.sum + val * n, self.count + n
        self.avg = self.sum / self.count


class ModelEma(nn.Module):
    def __init__(self, model, decay=0.98):
        super().__init__()
        self.module = copy.deepcopy(model).eval()
        self.decay = decay
        for p in self.module.parameters():
            p.requires_grad = False

    @torch.no_grad()
    def update(self, model):
        pairs = zip(self.module.state_dict().values(), model.state_dict().values(), strict=True)
        for ema_v, model_v in pairs:
            ema_v.copy_(self.decay * ema_v + (1.0 - self.decay) * model_v)


def images(count):
    y = torch.randint(4, (count,))
    x = 0.3 * torch.randn(count, 1, 8, 8)
    for i, k in enumerate(y.tolist()):
        x[i, 0, 4 * (k // 2) : 4 * (k // 2) + 4, 4 * (k % 2) : 4 * (k % 2) + 4] += 1
    return x, y


def mixup(x, target, alpha=0.2):
    lam = np.random.beta(alpha, alpha)
    y = torch.full((x.shape[0], 4), 0.1 / 4).scatter_(1, target[:, None], 1 - 0.1 + 0.1 / 4)
    return x * lam + x.flip(0) * (1 - lam), y * lam + y.flip(0) * (1 - lam)


def train_one_epoch(epoch, model, loss_fn, optimizer, model_ema, history):
    losses_m = AverageMeter()
    model.train()
    for _ in range(25):
        input, target = mixup(*images(16))
        output = model(input)
        loss = loss_fn(output, target)
        losses_m.update(loss.item(), input.size(0))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        model_ema.update(model)
        history.append(loss.item())
    print(f"Train: {epoch} Loss: {losses_m.val:.4f} ({losses_m.avg:.4f})")


def validate(model):
    model.eval()
    with torch.no_grad():
        input, target = images(64)
        return (model(input).argmax(1) == target).float().mean().item()


def main():
    model = VisionTransformer()
    groups = [
        {"params": list(model.blocks.parameters()), "lr": 2e-3 * 0.75},
        {"params": [p for n, p in model.named_parameters() if "blocks" not in n], "lr": 2e-3},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 5, eta_min=1e-5)
    model_ema, history = ModelEma(model), []
    for epoch in range(5):
        train_one_epoch(epoch, model, nn.CrossEntropyLoss(), optimizer, model_ema, history)
        print(f"Test: {validate(model):.3f} ema {validate(model_ema.module):.3f}")
        schedule.step()
    print("TRUTH", json.dumps({"model": ["AdamW", 125, history[0], history[-1]]}))


if __name__ == "__main__":
    main()
