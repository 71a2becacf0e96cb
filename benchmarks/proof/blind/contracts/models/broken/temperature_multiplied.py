r"""The model `ImageTextModel`.

Source: https://arxiv.org/abs/2002.05709
Fault: The similarity is multiplied by the temperature 0.07 instead of divided, so the softmax is
    almost uniform.
Cause: temperature|0\.07|multipl\w*.*(instead|divid)|divid\w*
    |(almost|nearly|near|close to) uniform|uniform (softmax|distribution|logit)
    |(small|tiny|narrow|flat)\w*.*logits?|logits?.*(small|tiny|narrow|flat)
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ImageTextModel(nn.Module):
    def __init__(self, image=24, text=18, dim=16, temperature=0.07):
        super().__init__()
        self.image = nn.Sequential(nn.Linear(image, 32), nn.GELU(), nn.Linear(32, dim))
        self.text = nn.Sequential(nn.Linear(text, 32), nn.GELU(), nn.Linear(32, dim))
        self.temperature = temperature

    def forward(self, image, text):
        a = F.normalize(self.image(image), dim=-1)
        b = F.normalize(self.text(text), dim=-1)
        logits = a @ b.T * self.temperature
        target = torch.arange(a.size(0), device=a.device)
        return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2


torch.manual_seed(0)
model = ImageTextModel()
example_inputs = (torch.randn(8, 24), torch.randn(8, 18),)
