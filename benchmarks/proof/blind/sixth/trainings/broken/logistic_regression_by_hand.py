r"""Softmax regression of digits with the cross entropy written out, after an old example.

Source: https://github.com/aymericdamien/TensorFlow-Examples/issues/383
Fault: The logarithm of a probability that is exactly zero makes the loss infinite and then NaN.
Cause: \blog\b|logarithm|log\(|zero.{0,40}probab|probab.{0,40}zero|underflow|clamp|epsilon
Place: \bcost\b|\bpred\b
"""

import torch

torch.manual_seed(0)
learning_rate, training_epochs, batch_size = 0.02, 3, 50
strokes = (torch.rand(784) > 0.75).float()
prototypes = (strokes - (torch.rand(10, 784) > 0.93).float()).abs()


def next_batch(size):
    digits = torch.randint(0, 10, (size,))
    pixels = (prototypes[digits] * (torch.rand(size, 784) > 0.2)) * 255
    return pixels, torch.nn.functional.one_hot(digits, 10).float()


weights = torch.zeros(784, 10, requires_grad=True)
biases = torch.zeros(10, requires_grad=True)
optimizer = torch.optim.SGD([weights, biases], lr=learning_rate)

for epoch in range(training_epochs):
    avg_cost = 0.0
    total_batch = 30
    for _ in range(total_batch):
        x, y = next_batch(batch_size)
        pred = torch.softmax(x / 16 @ weights + biases, dim=1)
        cost = -(y * torch.log(pred)).sum(1).mean()  # here
        optimizer.zero_grad()
        cost.backward()
        optimizer.step()
        avg_cost += cost.item() / total_batch
    print(f"Epoch: {epoch + 1:04d} cost= {avg_cost:.9f}")

x, y = next_batch(500)
pred = torch.softmax(x / 16 @ weights + biases, dim=1)
accuracy = (pred.argmax(1) == y.argmax(1)).float().mean()
print(f"Accuracy: {accuracy.item():.4f}")
