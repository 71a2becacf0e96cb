"""A teacher is trained, then a student learns from its logits, in the style of a tutorial."""

import json

import torch
import torch.nn.functional as F
from torch import nn, optim

torch.manual_seed(13)


class DeepNN(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, width))
        self.classifier = nn.Sequential(nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 4))

    def forward(self, x):
        return self.classifier(self.features(x))


centers = 2 * torch.randn(4, 8)


def batch(count=32):
    labels = torch.randint(4, (count,))
    return centers[labels] + torch.randn(count, 8), labels


def train(model, steps, learning_rate):
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.Adam(model.parameters(), lr=learning_rate)
    model.train()
    losses = []
    for _ in range(steps):
        inputs, labels = batch()
        optimizer.zero_grad()
        loss = criterion(model(inputs), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def train_knowledge_distillation(teacher, student, steps, learning_rate, T, weight):
    ce_loss = nn.CrossEntropyLoss()
    optimizer = optim.Adam(student.parameters(), lr=learning_rate)
    teacher.eval()
    student.train()
    losses = []
    for _ in range(steps):
        inputs, labels = batch()
        optimizer.zero_grad()
        with torch.no_grad():
            teacher_logits = teacher(inputs)
        student_logits = student(inputs)
        soft_targets = F.softmax(teacher_logits / T, dim=-1)
        soft_prob = F.log_softmax(student_logits / T, dim=-1)
        soft = torch.sum(soft_targets * (soft_targets.log() - soft_prob)) / soft_prob.size(0) * T**2
        loss = weight * soft + (1 - weight) * ce_loss(student_logits, labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test(model):
    model.eval()
    with torch.no_grad():
        inputs, labels = batch(256)
        accuracy = (model(inputs).argmax(1) == labels).float().mean().item()
    print(f"Test Accuracy: {100 * accuracy:.2f}%")


nn_deep, nn_light = DeepNN(64), DeepNN(12)
a = train(nn_deep, 80, 3e-3)
test(nn_deep)
b = train_knowledge_distillation(nn_deep, nn_light, 80, 3e-3, T=2, weight=0.25)
test(nn_light)
truth = {"nn_deep": ["Adam", 80, a[0], a[-1]], "nn_light": ["Adam", 80, b[0], b[-1]]}
print("TRUTH", json.dumps(truth))
