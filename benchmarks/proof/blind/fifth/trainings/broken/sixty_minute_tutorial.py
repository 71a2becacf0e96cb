r"""Tutorial that trains a small convolutional network and reports its accuracy for each class.

Source: https://github.com/FluxML/fluxml.github.io/pull/119
Fault: The test set pairs the test pictures with the labels of the training set.
Cause: train(ing)?[_ ]labels|(test|wrong) \w*labels?
    |labels? .*(of the train\w*|wrong|other split|mismatch|do not (match|belong))
Place: \btrain_labels\b
"""

import torch
from torch import nn

torch.manual_seed(1)
CLASSES = ("plane", "car", "bird", "cat")
centres = torch.randn(len(CLASSES), 3, 8, 8)


def pictures(count):
    labels = torch.randint(0, len(CLASSES), (count,))
    return centres[labels] + 1.5 * torch.randn(count, 3, 8, 8), labels


train_pictures, train_labels = pictures(500)
test_pictures, test_labels = pictures(200)
train = [(train_pictures[i : i + 50], train_labels[i : i + 50]) for i in range(0, 500, 50)]
test = [(test_pictures[i : i + 50], train_labels[i : i + 50]) for i in range(0, 200, 50)]  # here

model = nn.Sequential(
    nn.Conv2d(3, 16, 3),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(16 * 9, 32),
    nn.ReLU(),
    nn.Linear(32, len(CLASSES)),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


@torch.no_grad()
def accuracy(batches):
    hits = [(model(x).argmax(1) == y).float().mean() for x, y in batches]
    return torch.stack(hits).mean().item()


for epoch in range(6):
    for x, y in train:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} train {accuracy(train):.3f} test {accuracy(test):.3f}")
