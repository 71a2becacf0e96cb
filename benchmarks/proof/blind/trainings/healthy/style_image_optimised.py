r"""Optimises the pixels of an image so that its features match those of a style image.

Source: https://pytorch.org/tutorials/advanced/neural_style_tutorial.html
    https://github.com/pytorch/examples/tree/main/fast_neural_style
Odd: The network is frozen, in eval mode and in no optimizer; the only parameter is the image.
"""

import torch
import torch.nn.functional as F
from torch import nn


def gram_matrix(x):
    b, c, h, w = x.shape
    features = x.view(b * c, h * w)
    return features @ features.t() / (b * c * h * w)


torch.manual_seed(0)
cnn = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1)
).eval()
cnn.requires_grad_(False)
stripes = torch.sin(torch.arange(24).float()).view(1, 1, 1, -1).expand(1, 3, 24, 24)
content = torch.rand(1, 3, 24, 24)
style_gram, content_feat = gram_matrix(cnn(stripes)), cnn(content)
input_img = content.clone().requires_grad_(True)
optimizer = torch.optim.Adam([input_img], lr=0.05)
for run in range(120):
    features = cnn(input_img)
    style_loss = 1e7 * F.mse_loss(gram_matrix(features), style_gram)
    content_loss = F.mse_loss(features, content_feat)
    loss = style_loss + content_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if run % 24 == 23:
        print(f"run {run} style {style_loss.item():.4f} content {content_loss.item():.4f}")
