r"""Signs of a short alphabet from strokes, with a softmax at the end of the network.

Source: https://github.com/FluxML/model-zoo/issues/8
Fault: The squared error between the softmax and the one-hot labels is minimised instead of the
    cross entropy; where the network is wrong and sure, there is hardly any gradient.
Cause: mse|squared.?error|cross.?entropy|(loss|criterion)\w*.{0,60}(classif|softmax|unsuit
    |inappropriate)|softmax.{0,60}(saturat|gradient|flat)|(wrong|unsuitable) loss
Place: mse_loss|MSELoss|loss\w*|criterion|softmax
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(191)
SIGNS, INPUTS = 12, 64
strokes = torch.rand(SIGNS, INPUTS)


def load(count):
    label = torch.randint(0, SIGNS, (count,))
    image = 3.0 * strokes[label] + 0.8 * torch.randn(count, INPUTS)
    return image, label


class Chain(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense1 = nn.Linear(INPUTS, 32)
        self.dense2 = nn.Linear(32, SIGNS)
        nn.init.xavier_uniform_(self.dense1.weight, gain=2.0)
        nn.init.xavier_uniform_(self.dense2.weight, gain=2.0)

    def forward(self, x):
        return F.softmax(self.dense2(F.relu(self.dense1(x))), dim=1)


def loss_function(probabilities, label):
    return F.mse_loss(probabilities, F.one_hot(label, SIGNS).float())  # here


X, Y = load(1500)
tX, tY = load(500)
model = Chain()
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(8):
    total = 0.0
    for pick in torch.randperm(len(X)).split(50):
        loss = loss_function(model(X[pick]), Y[pick])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() / 30
    with torch.no_grad():
        train_acc = (model(X).argmax(1) == Y).float().mean().item()
    print(f"epoch {epoch} loss {total:.4f} accuracy {train_acc:.3f}")
with torch.no_grad():
    accuracy = (model(tX).argmax(1) == tY).float().mean().item()
print(f"test accuracy {accuracy:.3f}")
