r"""Risk of patients from age, blood values and dose, by the partial likelihood of Cox.

Source: https://github.com/jaredleekatzman/DeepSurv/issues/14
Fault: The features go in with their raw units, from thousandths to ten thousands, so the risks are
    enormous and only the largest feature counts.
Cause: (normali[sz]|standardi[sz]|scal(e|ed|ing)\b|range).{0,80}(input|feature|data|column)
    |units?\b.{0,80}(input|feature|data|column)|(inputs?|features?|data
    |columns?)\b.{0,80}(normali[sz]|standardi[sz]|scal|magnitude|range|large|units?\b|raw|huge)
Place: features?|\bx\b|records|patients|train_x|prepare
"""

import torch
from torch import nn

torch.manual_seed(61)
COLUMNS = {"age": (64.0, 11.0), "platelets": (26000.0, 9000.0), "creatinine": (1.1, 0.3)}
COLUMNS |= {"dose": (0.004, 0.0015), "sodium": (137.0, 4.0), "enzyme": (580.0, 250.0)}
location = torch.tensor([c[0] for c in COLUMNS.values()])
spread = torch.tensor([c[1] for c in COLUMNS.values()])


def records(count):
    z = torch.randn(count, len(COLUMNS))
    risk = 0.8 * z[:, 0] + 0.9 * z[:, 2] - 1.0 * z[:, 3] + 0.7 * z[:, 4] * z[:, 5]
    time = -torch.rand(count).log() / (0.1 * risk.exp())
    censor = 40 * torch.rand(count)
    event = (time <= censor).float()
    return location + spread * z, torch.minimum(time, censor), event


def prepare(table):
    features, time, event = table
    order = time.argsort(descending=True)
    return features[order], time[order], event[order]  # here


class DeepSurv(nn.Module):
    def __init__(self, n_in, hidden=(32, 32), dropout=0.1):
        super().__init__()
        sizes = (n_in, *hidden)
        blocks = []
        for a, b in zip(sizes[:-1], sizes[1:]):
            blocks += [nn.Linear(a, b), nn.ReLU(), nn.Dropout(dropout)]
        self.net = nn.Sequential(*blocks, nn.Linear(sizes[-1], 1, bias=False))

    def forward(self, x):
        return self.net(x).squeeze(1)


def negative_log_likelihood(risk, event):
    log_risk = torch.logcumsumexp(risk, dim=0)
    return -((risk - log_risk) * event).sum() / event.sum()


@torch.no_grad()
def concordance_index(model, features, time, event):
    model.eval()
    risk = model(features)
    usable = (time[:, None] < time[None]) & (event[:, None] == 1)
    return ((risk[:, None] > risk[None]) & usable).sum().item() / usable.sum().item()


train_x, train_t, train_e = prepare(records(1000))
valid_x, valid_t, valid_e = prepare(records(500))
model = DeepSurv(len(COLUMNS))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, nesterov=True)
for epoch in range(200):
    model.train()
    loss = negative_log_likelihood(model(train_x), train_e)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 40 == 39:
        c_index = concordance_index(model, valid_x, valid_t, valid_e)
        print(f"epoch {epoch + 1} loss {loss.item():.4f} valid c-index {c_index:.3f}")
