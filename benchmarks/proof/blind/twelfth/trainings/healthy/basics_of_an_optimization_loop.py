r"""Optimization loop of the basics of the official tutorials, on rendered garments.

Source: https://github.com/pytorch/tutorials/issues/2811
Healthy: the test loss is divided by the number of batches and the accuracy by the number of
    samples; the loss of each batch is a mean already, so both are right.
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

kinds = ["shirt", "trousers", "skirt", "coat", "boot", "bag", "cap", "scarf"]


def render(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(len(kinds), (n,), generator=g)
    x = torch.zeros(n, 1, 16, 16)
    for i in range(n):
        a, b = torch.randint(-1, 2, (2,), generator=g).tolist()
        v = 0.6 + 0.4 * torch.rand(1, generator=g).item()
        k = kinds[int(y[i])]
        boxes = {
            "shirt": [(4, 12, 5, 11), (4, 7, 2, 14)],
            "trousers": [(3, 6, 5, 11), (6, 14, 5, 7), (6, 14, 9, 11)],
            "skirt": [(5, 8, 6, 10), (8, 13, 4, 12)],
            "coat": [(3, 14, 5, 11), (4, 11, 3, 13)],
            "boot": [(3, 13, 5, 8), (10, 13, 5, 13)],
            "bag": [(7, 13, 3, 13), (4, 7, 6, 10)],
            "cap": [(6, 10, 5, 11), (10, 11, 3, 14)],
            "scarf": [(3, 14, 7, 9), (3, 5, 4, 12)],
        }[k]
        for t, d, l, r in boxes:
            x[i, 0, t + a:d + a, l + b:r + b] = v
    x = x + 0.25 * torch.randn(x.shape, generator=g)
    return TensorDataset(x, y)


training_data = render(2000, 1)
test_data = render(500, 2)

train_dataloader = DataLoader(training_data, batch_size=64, shuffle=True)
test_dataloader = DataLoader(test_data, batch_size=64)


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(16 * 16, 128),
            nn.ReLU(),
            nn.Linear(128, 128),
            nn.ReLU(),
            nn.Linear(128, 8),
        )

    def forward(self, x):
        x = self.flatten(x)
        logits = self.linear_relu_stack(x)
        return logits


model = NeuralNetwork()

learning_rate = 5e-2
batch_size = 64
epochs = 10


def train_loop(dataloader, model, loss_fn, optimizer):
    size = len(dataloader.dataset)
    # Set the model to training mode - important for batch normalization and dropout layers
    model.train()
    for batch, (X, y) in enumerate(dataloader):
        # Compute prediction and loss
        pred = model(X)
        loss = loss_fn(pred, y)

        # Backpropagation
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

        if batch % 10 == 0:
            loss, current = loss.item(), batch * batch_size + len(X)
            print(f"loss: {loss:>7f}  [{current:>5d}/{size:>5d}]")


def test_loop(dataloader, model, loss_fn):
    # Set the model to evaluation mode - important for batch normalization and dropout layers
    model.eval()
    size = len(dataloader.dataset)
    num_batches = len(dataloader)
    test_loss, correct = 0, 0

    # Evaluating the model with torch.no_grad() ensures that no gradients are computed
    with torch.no_grad():
        for X, y in dataloader:
            pred = model(X)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).type(torch.float).sum().item()

    test_loss /= num_batches
    correct /= size
    print(f"Test Error: \n Accuracy: {(100*correct):>0.1f}%, Avg loss: {test_loss:>8f} \n")


loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)

for t in range(epochs):
    print(f"Epoch {t+1}\n-------------------------------")
    train_loop(train_dataloader, model, loss_fn, optimizer)
    test_loop(test_dataloader, model, loss_fn)
print("Done!")
