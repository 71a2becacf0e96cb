r"""A polynomial fitted with hand-written gradient descent.

Source: https://pytorch.org/tutorials/beginner/pytorch_with_examples.html
    https://github.com/jcjohnson/pytorch-examples
Odd: There is no module and no optimizer; tensors are changed in place under no_grad and their .grad
    is set to None by hand. The summed loss is large, and the learning rate tiny.
"""

import math

import torch

torch.manual_seed(0)
x = torch.linspace(-math.pi, math.pi, 2000)
y = torch.sin(x)
a, b, c, d = (torch.randn((), requires_grad=True) for _ in range(4))
learning_rate = 3e-6

for t in range(300):
    y_pred = a + b * x + c * x**2 + d * x**3
    loss = (y_pred - y).pow(2).sum()
    if t % 50 in (0, 49):
        print(t, f"{loss.item():.2f}")
    loss.backward()
    with torch.no_grad():
        for w in (a, b, c, d):
            w -= learning_rate * w.grad
            w.grad = None

print(f"Result: y = {a.item():.3f} + {b.item():.3f} x + {c.item():.3f} x^2 + {d.item():.3f} x^3")
