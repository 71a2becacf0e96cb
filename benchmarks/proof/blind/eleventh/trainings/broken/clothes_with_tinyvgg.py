r"""The TinyVGG lesson of a course: a CNN on small pictures of clothes with train_step and
test_step.

Source: https://blog.gitcode.com/3ec123ad43da921deff784fd702ca18b.html
Fault: the model is created once more after the optimizer; the optimizer holds the parameters of the
    first instance, so the net that is trained never changes and stays at chance.
Cause: \b(optimi[sz]er|sgd)\b.*\b(old|other|different|another|first|previous|earlier|stale
    |discarded|former|not (of|in|belong)|does not hold|no longer|never (holds|sees|updates))
    |(model|net\w*|model_2|instance)\b.*(re-?creat|re-?instantiat|re-?build|re-?assign|re-?defin
    |replac|created (again|after|anew|a second)|new (instance|object|model)|second (instance
    |model))
    |parameters?\b.*\b(not|none|never|no)\b.*\b(in|by|of|held by|known to|registered with
    |passed to) (the|any|an) optimi
    |(none|no|not)\b.*\bparameters?\b.*\b(in|by|held by|known to|registered with|passed to) (the
    |any|an) optimi
Place: model_2|optimizer|FashionMNISTModelV2
"""
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = "cpu"
BATCH_SIZE = 32
class_names = ['T-shirt/top', 'Trouser', 'Dress', 'Sandal', 'Bag']


def fake_fashion(n, seed):
    g = torch.Generator().manual_seed(99)
    protos = torch.rand(len(class_names), 1, 16, 16, generator=g)
    protos = nn.functional.avg_pool2d(protos, 3, 1, 1) * 2
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, len(class_names), (n,), generator=g)
    X = protos[y] + 0.25 * torch.randn(n, 1, 16, 16, generator=g)
    return TensorDataset(X - 1.0, y)


train_data = fake_fashion(1024, 0)
test_data = fake_fashion(256, 1)
train_dataloader = DataLoader(train_data, batch_size=BATCH_SIZE, shuffle=True)
test_dataloader = DataLoader(test_data, batch_size=BATCH_SIZE, shuffle=False)


# Create a convolutional neural network
class FashionMNISTModelV2(nn.Module):
    """
    Model architecture copying TinyVGG
    """
    def __init__(self, input_shape: int, hidden_units: int, output_shape: int):
        super().__init__()
        self.block_1 = nn.Sequential(
            nn.Conv2d(input_shape, hidden_units, kernel_size=3, stride=1, padding=1),
            nn.ReLU(),
            nn.Conv2d(hidden_units, hidden_units, kernel_size=3, stride=1, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=2, stride=2))
        self.block_2 = nn.Sequential(
            nn.Conv2d(hidden_units, hidden_units, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(hidden_units, hidden_units, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2))
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Linear(in_features=hidden_units * 4 * 4, out_features=output_shape))

    def forward(self, x: torch.Tensor):
        x = self.block_1(x)
        x = self.block_2(x)
        x = self.classifier(x)
        return x


def accuracy_fn(y_true, y_pred):
    correct = torch.eq(y_true, y_pred).sum().item()
    return (correct / len(y_pred)) * 100


def train_step(model, data_loader, loss_fn, optimizer, accuracy_fn, device=device):
    train_loss, train_acc = 0, 0
    model.train()
    for batch, (X, y) in enumerate(data_loader):
        X, y = X.to(device), y.to(device)
        y_pred = model(X)
        loss = loss_fn(y_pred, y)
        train_loss += loss.item()
        train_acc += accuracy_fn(y_true=y, y_pred=y_pred.argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    train_loss /= len(data_loader)
    train_acc /= len(data_loader)
    print(f"Train loss: {train_loss:.5f} | Train accuracy: {train_acc:.2f}%")


def test_step(data_loader, model, loss_fn, accuracy_fn, device=device):
    test_loss, test_acc = 0, 0
    model.eval()
    with torch.inference_mode():
        for X, y in data_loader:
            X, y = X.to(device), y.to(device)
            test_pred = model(X)
            test_loss += loss_fn(test_pred, y).item()
            test_acc += accuracy_fn(y_true=y, y_pred=test_pred.argmax(dim=1))
        test_loss /= len(data_loader)
        test_acc /= len(data_loader)
        print(f"Test loss: {test_loss:.5f} | Test accuracy: {test_acc:.2f}%\n")


torch.manual_seed(42)
model_2 = FashionMNISTModelV2(input_shape=1, hidden_units=10,
                              output_shape=len(class_names)).to(device)

# Setup loss and optimizer
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(params=model_2.parameters(), lr=0.1)

torch.manual_seed(42)
model_2 = FashionMNISTModelV2(1, 10, len(class_names)).to(device)  # here

# Train and test model
start = time.time()
epochs = 4
for epoch in range(epochs):
    print(f"Epoch: {epoch}\n---------")
    train_step(data_loader=train_dataloader, model=model_2, loss_fn=loss_fn,
               optimizer=optimizer, accuracy_fn=accuracy_fn)
    test_step(data_loader=test_dataloader, model=model_2, loss_fn=loss_fn,
              accuracy_fn=accuracy_fn)
print(f"Train time on {device}: {time.time() - start:.1f} seconds")
