"""CLIP: encode_image and encode_text are called, and a parameter is the temperature."""

import json

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(42)


class CLIP(nn.Module):
    def __init__(self):
        super().__init__()
        self.visual = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 8))
        self.token_embedding = nn.Embedding(20, 16)
        self.text_projection = nn.Parameter(torch.randn(16, 8) * 0.25)
        self.logit_scale = nn.Parameter(torch.ones([]) * np.log(1 / 0.07))

    def encode_image(self, image):
        return F.normalize(self.visual(image), dim=-1)

    def encode_text(self, text):
        return F.normalize(self.token_embedding(text).mean(1) @ self.text_projection, dim=-1)


model = CLIP()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
codes = torch.randn(20, 12)
losses = []
for step in range(120):
    texts = torch.randint(20, (16, 3))
    images = codes[texts].mean(1) + 0.05 * torch.randn(16, 12)
    image_features, text_features = model.encode_image(images), model.encode_text(texts)
    logits = model.logit_scale.exp() * image_features @ text_features.T
    labels = torch.arange(16)
    loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        model.logit_scale.clamp_(0, np.log(100))
    losses.append(loss.item())
    if step % 30 == 0:
        print(step, loss.item())
print("TRUTH", json.dumps({"model": ["AdamW", 120, losses[0], losses[-1]]}))
