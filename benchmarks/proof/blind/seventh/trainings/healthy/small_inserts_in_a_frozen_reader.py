r"""A reader of one kind of text is fitted to another by small inserts in its layers.

Source: https://github.com/google-research/adapter-bert
Odd: All of the pretrained layers are fixed but for the norms; the inserts start as almost
    nothing, so that the first loss is that of a new classifier on old features.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(112)
WORDS, LENGTH, WIDTH = 30, 10, 32


class Adapter(nn.Module):
    def __init__(self, width, size=8):
        super().__init__()
        self.down, self.up = nn.Linear(width, size), nn.Linear(size, width)
        for layer in (self.down, self.up):
            nn.init.trunc_normal_(layer.weight, std=1e-3)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        return x + self.up(F.gelu(self.down(x)))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 64), nn.GELU(), nn.Linear(64, WIDTH))
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.insert1, self.insert2 = nn.Identity(), nn.Identity()

    def forward(self, x):
        x = self.norm1(x + self.insert1(self.attention(x, x, x, need_weights=False)[0]))
        return self.norm2(x + self.insert2(self.feed(x)))


class Reader(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.word, self.place = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.layers = nn.Sequential(Layer(), Layer())
        self.head = nn.Linear(WIDTH, classes)

    def forward(self, ids):
        x = self.word(ids) + self.place(torch.arange(LENGTH))
        return self.head(self.layers(x).mean(1))


def texts(count, weight, classes):
    ids = torch.randint(0, WORDS, (count, LENGTH))
    return ids, weight[ids].sum(1)[:, :classes].argmax(1)


def run(model, parameters, weight, classes, lr, steps, name):
    optimizer = torch.optim.AdamW(parameters, lr=lr)
    test = texts(500, weight, classes)
    for step in range(steps):
        ids, y = texts(48, weight, classes)
        loss = F.cross_entropy(model(ids), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % (steps // 3) == steps // 3 - 1:
            with torch.no_grad():
                right = (model(test[0]).argmax(1) == test[1]).float().mean().item()
            print(f"{name} {step + 1} loss {loss.item():.3f} test {right:.3f}")


model = Reader(4)
run(model, list(model.parameters()), torch.randn(WORDS, 4), 4, 2e-3, 120, "first texts")
for p in model.parameters():
    p.requires_grad_(False)
for layer in model.layers:
    layer.insert1, layer.insert2 = Adapter(WIDTH), Adapter(WIDTH)
    for norm in (layer.norm1, layer.norm2):
        norm.requires_grad_(True)
model.head = nn.Linear(WIDTH, 3)
moving = [p for p in model.parameters() if p.requires_grad]
run(model, moving, torch.randn(WORDS, 3), 3, 5e-3, 150, "second texts")
