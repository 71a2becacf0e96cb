r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.StepLR.html
Fault: StepLR's step_size is meant in epochs, but step is called after every batch, so the
    learning rate collapses within the first epochs.
Cause: (schedul\w*|StepLR|step_size).{0,120}(batch|iteration|epoch|too (fast|early|often)|inner)
    |learning rate.{0,60}(collaps|vanish|decay|zero|tiny|too (fast|early|quick))
"""

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(31)
n_class = 4
basis = torch.randn(n_class, 16)
lab = torch.randint(n_class, (768,))
sig = basis[lab] * (0.8 + 0.4 * torch.rand(768, 1)) + 0.8 * torch.randn(768, 16)
x_train, y_train = sig[:640], lab[:640]
x_test, y_test = sig[640:], lab[640:]

classifier = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, n_class))
optimizer = optim.SGD(classifier.parameters(), lr=0.05, momentum=0.9)
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.1)
loss_fn = nn.CrossEntropyLoss()

num_epochs = 12
for epoch in range(num_epochs):
    classifier.train()
    total = 0.0
    for batch in torch.randperm(640).split(64):
        optimizer.zero_grad()
        loss = loss_fn(classifier(x_train[batch]), y_train[batch])
        loss.backward()
        optimizer.step()
        total += loss.item()
        scheduler.step()
    print(f"[{epoch + 1}/{num_epochs}] loss {total / 10:.4f}")

classifier.eval()
with torch.no_grad():
    print("test acc", (classifier(x_test).argmax(1) == y_test).float().mean().item())
