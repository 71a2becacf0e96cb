r"""Trains a text classifier with NLLLoss.

Source: https://github.com/AnubhavGupta3377/Text-Classification-Models-Pytorch/issues/9
    https://github.com/clvrai/ACGAN-PyTorch/pull/4
Fault: the model ends in Softmax but NLLLoss wants log-probabilities, so the loss is negative, the
    gradient vanishes when a class is badly predicted and the training is slow.
Cause: log.?softmax|log.?prob|\bnll|negative loss|loss\b.*\bnegative|softmax
Place: softmax|criterion|NLLLoss
"""

import torch
from torch import nn

torch.manual_seed(0)


class FastText(nn.Module):
    def __init__(self, vocab=120, dim=24, classes=4):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, dim)
        self.fc1 = nn.Linear(dim, 32)
        self.fc2 = nn.Linear(32, classes)
        self.softmax = nn.Softmax(dim=1)  # here

    def forward(self, x):
        h = self.fc1(self.embeddings(x).mean(1))
        return self.softmax(self.fc2(h))


ids = torch.randint(0, 120, (400, 12))
labels = (ids // 30).mode(1).values
model = FastText()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
NLLLoss = nn.NLLLoss()
for epoch in range(12):
    losses = []
    for rows in torch.randperm(400).split(40):
        optimizer.zero_grad()
        y_pred = model(ids[rows])
        loss = NLLLoss(y_pred, labels[rows])
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    acc = (model(ids).argmax(1) == labels).float().mean().item()
    print(f"Epoch {epoch} avg loss {sum(losses) / 10:.4f} accuracy {acc:.3f}")
