r"""Knowledge distillation with a temperature of four from a trained, frozen teacher.

Source: https://github.com/haitongli/knowledge-distillation-pytorch/blob/master/model/net.py
    https://github.com/haitongli/knowledge-distillation-pytorch/blob/master/train.py
Odd: The teacher runs in eval mode under no_grad and gets no gradients; the loss has the factor T*T
    and is not a plain cross entropy.
"""

import torch
import torch.nn.functional as F
from torch import nn


def loss_fn_kd(outputs, labels, teacher_outputs, alpha=0.9, T=4.0):
    soft = F.kl_div(
        F.log_softmax(outputs / T, dim=1),
        F.softmax(teacher_outputs / T, dim=1),
        reduction="batchmean",
    )
    return soft * (alpha * T * T) + F.cross_entropy(outputs, labels) * (1.0 - alpha)


def mlp(width):
    return nn.Sequential(
        nn.Linear(12, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, 5)
    )


def batch(n=128):
    x = torch.randn(n, 12)
    return x, x[:, :5].abs().argmax(1)


torch.manual_seed(230)
teacher_model, model = mlp(128), mlp(16)
optimizer = torch.optim.Adam(teacher_model.parameters(), lr=1e-2)
for i in range(120):
    x, y = batch()
    loss = F.cross_entropy(teacher_model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"teacher loss {loss.item():.4f}")
teacher_model.eval()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for i in range(200):
    x, y = batch()
    with torch.no_grad():
        output_teacher_batch = teacher_model(x)
    output_batch = model(x)
    loss = loss_fn_kd(output_batch, y, output_teacher_batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 40 == 39:
        acc = (output_batch.argmax(1) == y).float().mean().item()
        print(f"{i} KD loss {loss.item():.4f} accuracy {acc:.3f}")
