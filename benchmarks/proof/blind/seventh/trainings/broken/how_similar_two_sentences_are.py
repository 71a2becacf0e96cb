r"""How similar two sentences are, from zero to one, as a regression on their vectors.

Source: https://github.com/deepset-ai/FARM/issues/395
Fault: The conversion to tensors makes integers of all labels, so the similarities are cut to 0 or
    1.
Cause: (integer|\bint\b|\blong\b|int64|torch\.long|dtype|cast|truncat|round|fraction|decimal)
    |(label|target)s?.{0,80}(all|almost|mostly|nearly|constant|same|equal).{0,40}(zero|0\b|value)
Place: labels?|convert|long|dtype|tensor
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(62)


def sentence_pairs(count, dim=24):
    theme = torch.randn(count, dim)
    shared = torch.rand(count, 1)
    left = theme + 0.2 * torch.randn(count, dim)
    right = shared * theme + (1 - shared) * torch.randn(count, dim)
    return [
        {"left": a, "right": b, "label": c}
        for a, b, c in zip(left.tolist(), right.tolist(), shared.squeeze(1).tolist())
    ]


def convert_features_to_dataset(features):
    names = list(features[0])
    tensors = []
    for name in names:
        values = [sample[name] for sample in features]
        if name == "label":
            tensors.append(torch.tensor(values, dtype=torch.long))  # here
        else:
            tensors.append(torch.tensor(values, dtype=torch.float32))
    return TensorDataset(*tensors), names


class RegressionHead(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, left, right):
        return self.layers(torch.cat([left * right, (left - right).abs()], 1)).squeeze(1)

    def logits_to_loss(self, logits, label):
        return nn.functional.mse_loss(logits, label.float())


def correlation(a, b):
    return torch.corrcoef(torch.stack([a, b]))[0, 1].item()


train_set, names = convert_features_to_dataset(sentence_pairs(1500))
dev = sentence_pairs(400)
dev_left = torch.tensor([s["left"] for s in dev])
dev_right = torch.tensor([s["right"] for s in dev])
dev_label = torch.tensor([s["label"] for s in dev])
model = RegressionHead(48)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(8):
    for batch in DataLoader(train_set, batch_size=50, shuffle=True):
        sample = dict(zip(names, batch))
        logits = model(sample["left"], sample["right"])
        loss = model.logits_to_loss(logits, sample["label"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        predicted = model(dev_left, dev_right)
    error = (predicted - dev_label).abs().mean().item()
    r = correlation(predicted, dev_label)
    print(f"epoch {epoch} loss {loss.item():.4f} error {error:.3f} r {r:.3f}")
