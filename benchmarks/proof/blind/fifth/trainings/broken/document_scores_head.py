r"""Fine-tuning of a small language encoder with a head that predicts a score for a document.

Source: https://github.com/deepset-ai/FARM/issues/229
Fault: The logits are squeezed to a row while the labels are a column, so each meets each other.
Cause: broadcast|shapes? .*(differ|mismatch|not)|target size|\(\d+, ?\d*\)
    |(every|all|each) (pairs?|label|prediction)|squeez\w*|outer
Place: \blogits_to_loss\b|\blabel_ids\b
"""

import torch
from torch import nn


class RegressionHead(nn.Module):
    def __init__(self, layer_dims):
        super().__init__()
        self.feed_forward = nn.Linear(*layer_dims)
        self.loss_fct = nn.MSELoss()

    def forward(self, pooled):
        return self.feed_forward(pooled)

    def logits_to_loss(self, logits, label_ids):
        return self.loss_fct(logits.squeeze(), label_ids.float())  # here


class AdaptiveModel(nn.Module):
    def __init__(self, language_model, head):
        super().__init__()
        self.language_model = language_model
        self.prediction_head = head

    def forward(self, ids):
        return self.prediction_head(self.language_model(ids).mean(dim=1))


def documents(count):
    ids = torch.randint(0, 64, (count, 16))
    label = (ids < 16).sum(dim=1, keepdim=True)
    return ids, label


torch.manual_seed(0)
language_model = nn.Sequential(nn.Embedding(64, 32), nn.Linear(32, 32), nn.GELU())
model = AdaptiveModel(language_model, RegressionHead([32, 1]))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for step in range(100):
    ids, label_ids = documents(32)
    logits = model(ids)
    loss = model.prediction_head.logits_to_loss(logits, label_ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 25 == 0:
        print(f"Train (Cur. train loss: {loss.item():.4f})")
ids, label_ids = documents(400)
with torch.no_grad():
    error = (model(ids) - label_ids).square().mean().item()
print(f"mse {error:.4f}, variance of the labels {label_ids.float().var().item():.4f}")
