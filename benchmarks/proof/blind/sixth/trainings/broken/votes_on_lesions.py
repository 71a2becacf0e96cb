r"""Two classes of lesions from measurements, where one in seven is malignant.

Source: https://github.com/abhuse/polyloss-pytorch/issues/5
Fault: The classes are unbalanced and the loss has no weights, so every vote is for the larger.
Cause: imbalanc|unbalanc|(class|sample)\w*.{0,40}weight|majority|minority|rare
    |(one|same|single) class
    |class \w+ .{0,40}(most|frequent|86|8\d ?%)
Place: criterion|Poly1CrossEntropyLoss
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(13)
benign, malignant = 398, 64


def measure(label):
    x = torch.randn(len(label), 10)
    x[:, :4] += 0.42 * label[:, None]
    return x


class Poly1CrossEntropyLoss(nn.Module):
    def __init__(self, num_classes, epsilon=1.0, weight=None):
        super().__init__()
        self.num_classes = num_classes
        self.epsilon = epsilon
        self.weight = weight

    def forward(self, logits, labels):
        one_hot = F.one_hot(labels, self.num_classes).to(logits)
        pt = torch.sum(one_hot * F.softmax(logits, dim=-1), dim=-1)
        ce = F.cross_entropy(logits, labels, weight=self.weight, reduction="none")
        scale = 1 if self.weight is None else self.weight[labels]
        return (ce + self.epsilon * scale * (1 - pt)).mean()


train_y = torch.cat([torch.zeros(benign), torch.ones(malignant)]).long()
train_set = TensorDataset(measure(train_y), train_y)
loader = DataLoader(train_set, batch_size=33, shuffle=True)
val_y = torch.cat([torch.zeros(860), torch.ones(140)]).long()
val_x = measure(val_y)

model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = Poly1CrossEntropyLoss(num_classes=2)  # here
for epoch in range(8):
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        votes = model(val_x).argmax(1)
    recall = (votes[val_y == 1] == 1).float().mean().item()
    accuracy = (votes == val_y).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.3f} accuracy {accuracy:.3f} recall {recall:.3f}")
