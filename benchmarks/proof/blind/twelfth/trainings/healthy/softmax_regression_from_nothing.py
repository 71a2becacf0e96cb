r"""Softmax regression of a course on two measures of four kinds, with weights that start at zero.

Source: https://prodopsy.com/how-can-the-backward-function-in-tensor-influence-the-matrix-in-model
Healthy: the weights are set to zero through detach().zero_(), which some hold for a break of the
    graph; it only writes into the same memory, and a single linear layer may start at zero.
"""
import numpy as np
import torch
import torch.nn.functional as F

torch.manual_seed(123)
np.random.seed(123)

# Dataset
centers = np.array([[0.0, 0.0], [3.0, 0.5], [0.5, 3.0], [3.5, 3.5]])
y = np.repeat(np.arange(4), 60)
X = centers[y] + 0.75 * np.random.randn(240, 2)

shuffle_idx = np.random.permutation(240)
X, y = X[shuffle_idx], y[shuffle_idx]
X_train, X_test = X[:180], X[180:]
y_train, y_test = y[:180], y[180:]

# Normalize (mean zero, unit variance)
mu, sigma = X_train.mean(axis=0), X_train.std(axis=0)
X_train = (X_train - mu) / sigma
X_test = (X_test - mu) / sigma

DEVICE = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


class SoftmaxRegression(torch.nn.Module):

    def __init__(self, num_features, num_classes):
        super(SoftmaxRegression, self).__init__()
        self.linear = torch.nn.Linear(num_features, num_classes)

        self.linear.weight.detach().zero_()
        self.linear.bias.detach().zero_()
        # the weight has the shape num_classes, num_features,
        # so that the product is with its transpose

    def forward(self, x):
        logits = self.linear(x)
        probas = F.softmax(logits, dim=1)
        return logits, probas


def comp_accuracy(true_labels, pred_labels):
    accuracy = torch.sum(true_labels.view(-1).float() ==
                         pred_labels.float()).item() / true_labels.size(0)
    return accuracy


model = SoftmaxRegression(num_features=2, num_classes=4).to(DEVICE)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

X_train = torch.tensor(X_train, dtype=torch.float32, device=DEVICE)
y_train = torch.tensor(y_train, dtype=torch.long, device=DEVICE)
X_test = torch.tensor(X_test, dtype=torch.float32, device=DEVICE)
y_test = torch.tensor(y_test, dtype=torch.long, device=DEVICE)

num_epochs = 60
for epoch in range(num_epochs):

    #### Compute outputs ####
    logits, probas = model(X_train)

    #### Compute gradients ####
    cost = F.cross_entropy(logits, y_train)
    optimizer.zero_grad()
    cost.backward()

    #### Update weights ####
    optimizer.step()

    #### Logging ####
    if epoch % 10 == 9:
        logits, probas = model(X_train)
        acc = comp_accuracy(y_train, torch.argmax(probas, dim=1))
        print("Epoch: %03d" % (epoch + 1), end="")
        print(" | Train ACC: %.3f" % acc, end="")
        print(" | Cost: %.3f" % F.cross_entropy(logits, y_train))

print("\nModel parameters:")
print("  Weights: %s" % model.linear.weight)
print("  Bias: %s" % model.linear.bias)

with torch.no_grad():
    logits, probas = model(X_test)
test_acc = comp_accuracy(y_test, torch.argmax(probas, dim=1))
print("Test set accuracy: %.2f%%" % (test_acc * 100))
