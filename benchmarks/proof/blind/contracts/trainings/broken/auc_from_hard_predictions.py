r"""A training.

Source: https://scikit-learn.org/stable/modules/generated/sklearn.metrics.roc_auc_score.html
Fault: The AUC is computed from thresholded 0/1 predictions instead of from the scores, so it is
    not the area under the ROC curve.
Cause: threshold|hard|0/1|binari[sz]ed|binary (pred|label|decision|value)|rounded
    |AUC.{0,80}(score|probab|rank)|(scores?|probabilit\w*) (instead|rather|are needed)
    |instead of (the )?(score|probab)
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(204)
n = 900
x = torch.randn(n, 8)
y = torch.bernoulli(torch.sigmoid(1.5 * x[:, 0] - x[:, 1] + x[:, 2] * x[:, 3] - 1.0))
loader = DataLoader(TensorDataset(x[:650], y[:650]), batch_size=65, shuffle=True)


def roc_auc(scores, truth):
    pos, neg = scores[truth == 1], scores[truth == 0]
    diff = pos[:, None] - neg[None, :]
    return ((diff > 0).float() + 0.5 * (diff == 0).float()).mean().item()


net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.AdamW(net.parameters(), lr=5e-3)
bce = nn.BCEWithLogitsLoss()
for epoch in range(8):
    net.train()
    for xb, yb in loader:
        opt.zero_grad()
        loss = bce(net(xb).squeeze(1), yb)
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        prob = torch.sigmoid(net(x[650:]).squeeze(1))
    auc = roc_auc((prob > 0.5).float(), y[650:])
    print(f"epoch {epoch} loss {loss.item():.4f} auc {auc:.4f}")
