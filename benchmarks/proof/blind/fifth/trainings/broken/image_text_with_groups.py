r"""Model of images and text with parameter groups of different rates.

Source: https://github.com/facebookresearch/mmf/pull/620
Fault: The pooler is in no parameter group, so the optimizer never updates it.
Cause: (not|never|missing|absent|lack\w*|without|omit\w*) .*(optimi[sz]er|parameter group|any group)
    |(optimi[sz]er|parameter group)\w* .*(miss|not|never|lack|omit|without)|never (updated|trained)
Place: \bpooler\b
"""

import torch
from torch import nn


class TransformerModel(nn.Module):
    def __init__(self, image=20, words=50, dim=32, pooled=3, labels=6):
        super().__init__()
        self.image_encoder = nn.Sequential(nn.Linear(image, dim), nn.GELU())
        self.text_encoder = nn.EmbeddingBag(words, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, 0.0, batch_first=True)
        self.backend = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.pooler = nn.Sequential(nn.Linear(dim, pooled), nn.Tanh())
        self.classifier = nn.Linear(pooled, labels)

    def forward(self, image, text):
        tokens = torch.stack([self.text_encoder(text), self.image_encoder(image)], dim=1)
        return self.classifier(self.pooler(self.backend(tokens)[:, 0]))


def get_optimizer_parameters(model, lr, multiplier):
    groups = []
    for name in ("image_encoder", "text_encoder", "backend"):
        parameters = list(getattr(model, name).parameters())
        groups.append({"params": parameters, "lr": lr * multiplier})
    groups.append({"params": list(model.classifier.parameters()), "lr": lr})  # here
    return groups


torch.manual_seed(2)
centres, topic = torch.randn(6, 20), torch.randint(0, 50, (6, 4))
model = TransformerModel()
optimizer = torch.optim.AdamW(get_optimizer_parameters(model, 1e-2, multiplier=0.01))
for step in range(80):
    label = torch.randint(0, 6, (64,))
    image = centres[label] + torch.randn(64, 20)
    text = torch.cat([topic[label], torch.randint(0, 50, (64, 4))], dim=1)
    loss = nn.functional.cross_entropy(model(image, text), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step + 1} loss {loss.item():.4f}")
