"""In the style of the neural transfer tutorial: LBFGS changes an image, no parameter is trained."""

import json

import torch
from torch import nn, optim

torch.manual_seed(39)
cnn = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1))
cnn.eval().requires_grad_(False)


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    return torch.mm(features, features.t()).div(a * b * c * d)


content_img, style_img = torch.rand(1, 3, 12, 12), torch.rand(1, 3, 12, 12)
content, style = cnn(content_img).detach(), gram_matrix(cnn(style_img)).detach()
input_img = content_img.clone().requires_grad_(True)
optimizer = optim.LBFGS([input_img])
run = [0]
while run[0] <= 60:

    def closure():
        with torch.no_grad():
            input_img.clamp_(0, 1)
        optimizer.zero_grad()
        features = cnn(input_img)
        style_score = 1e6 * nn.functional.mse_loss(gram_matrix(features), style)
        loss = style_score + nn.functional.mse_loss(features, content)
        loss.backward()
        run[0] += 1
        if run[0] % 20 == 0:
            print(f"run {run}: {loss.item():4f}")
        return loss

    optimizer.step(closure)
with torch.no_grad():
    input_img.clamp_(0, 1)
print("TRUTH", json.dumps({}))
