"""Two networks that learn from the labels and from the predictions of each other.

Source: https://github.com/chxy95/Deep-Mutual-Learning
Odd: The target of each network is the current output of the other one, detached; there are two
    optimizers, and the term between the networks first grows and then falls.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(219)
CLASSES = 6
first_view = torch.randn(CLASSES, 16)
second_view = torch.randn(CLASSES, 16)


def sample(count):
    label = torch.randint(0, CLASSES, (count,))
    x = torch.cat([first_view[label], second_view[label]], 1)
    return x + 1.7 * torch.randn(count, 32), label


def student(hidden, act):
    return nn.Sequential(nn.Linear(32, hidden), act, nn.Dropout(0.2), nn.Linear(hidden, CLASSES))


models = [student(32, nn.ReLU()), student(64, nn.Tanh())]
optimizers = [torch.optim.SGD(m.parameters(), lr=0.05, momentum=0.9) for m in models]
loss_kl = nn.KLDivLoss(reduction="batchmean")
train_x, train_y = sample(1200)
for epoch in range(8):
    totals = [0.0, 0.0]
    for pick in torch.randperm(1200).split(50):
        x, y = train_x[pick], train_y[pick]
        for model in models:
            model.train()
        outputs = [model(x) for model in models]
        for i, optimizer in enumerate(optimizers):
            ce_loss = F.cross_entropy(outputs[i], y)
            peer = outputs[1 - i].detach()
            kl_loss = loss_kl(F.log_softmax(outputs[i], dim=1), F.softmax(peer, dim=1))
            optimizer.zero_grad()
            (ce_loss + kl_loss).backward()
            optimizer.step()
            totals[i] += (ce_loss + kl_loss).item() / 24
    if epoch % 2 == 0:
        print(f"epoch {epoch} losses {totals[0]:.4f} {totals[1]:.4f}")
test_x, test_y = sample(2000)
for i, model in enumerate(models):
    model.eval()
    with torch.no_grad():
        accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"model {i + 1} loss {totals[i]:.4f} accuracy {accuracy:.3f}")
