r"""Example of a book: a two-layer net that tells three kinds of flowers apart, in batches of two.

Source: https://github.com/rasbt/machine-learning-book/issues/93
Fault: the mean over the batch is added up and the sum is divided by the number of samples, not by
    the number of batches, so the reported accuracy is half of the true one.
Cause: accuracy.{0,160}(divid|mean|averag|twice|half|batch(es)?|dataset|samples|\bsum\b|too (low
    |small))|(divid|mean|averag)\w*.{0,120}(twice|number of (samples|batches)|len\(|dataset)
Place: accuracy_hist|is_correct|accuracy
"""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

np.random.seed(1)
torch.manual_seed(1)

# four measures of three kinds of flowers
centers = np.array([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0]])
spread = np.array([0.35, 0.3, 0.3, 0.2])
y = np.repeat(np.arange(3), 50)
X = centers[y] + spread * np.random.randn(150, 4)

order = np.random.permutation(150)
train_idx, test_idx = order[:100], order[100:]
X_train, y_train = X[train_idx], y[train_idx]
X_test, y_test = X[test_idx], y[test_idx]

X_train_norm = (X_train - np.mean(X_train, axis=0)) / np.std(X_train, axis=0)
X_train_norm = torch.from_numpy(X_train_norm).float()
y_train = torch.from_numpy(y_train)

train_ds = TensorDataset(X_train_norm, y_train)
batch_size = 2
train_dl = DataLoader(train_ds, batch_size, shuffle=True)


class Model(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.layer1 = nn.Linear(input_size, hidden_size)
        self.layer2 = nn.Linear(hidden_size, output_size)

    def forward(self, x):
        x = self.layer1(x)
        x = nn.Sigmoid()(x)
        x = self.layer2(x)
        return x


input_size = X_train_norm.shape[1]
hidden_size = 16
output_size = 3

model = Model(input_size, hidden_size, output_size)

learning_rate = 0.001

loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)

num_epochs = 60
loss_hist = [0] * num_epochs
accuracy_hist = [0] * num_epochs

for epoch in range(num_epochs):

    for x_batch, y_batch in train_dl:
        pred = model(x_batch)
        loss = loss_fn(pred, y_batch.long())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

        loss_hist[epoch] += loss.item() * y_batch.size(0)
        is_correct = (torch.argmax(pred, dim=1) == y_batch).float()
        accuracy_hist[epoch] += is_correct.mean()  # here

    loss_hist[epoch] /= len(train_dl.dataset)
    accuracy_hist[epoch] /= len(train_dl.dataset)
    if (epoch + 1) % 10 == 0:
        print(f"Epoch {epoch + 1} Loss {loss_hist[epoch]:.4f} Acc. {accuracy_hist[epoch]:.4f}")

X_test_norm = (X_test - np.mean(X_train, axis=0)) / np.std(X_train, axis=0)
X_test_norm = torch.from_numpy(X_test_norm).float()
y_test = torch.from_numpy(y_test)
pred_test = model(X_test_norm)

correct = (torch.argmax(pred_test, dim=1) == y_test).float()
accuracy = correct.mean()

print(f"Test Acc.: {accuracy:.4f}")
