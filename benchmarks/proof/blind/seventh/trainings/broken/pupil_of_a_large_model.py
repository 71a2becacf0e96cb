r"""A small model learns the outputs of a larger one, with several batches per update.

Source: https://github.com/agokrani/distillKitPlus/issues/5
Fault: The losses of the batches are added up without a division by their number.
Cause: (divid|averag|normali|mean|scale)\w*.{0,100}(accumul|number of (micro|batch)|steps)
    |accumul\w*.{0,120}(divid|averag|normali|sum|scale|times (too )?larg|multipl|\d+ times|larger)
    |(gradient|effective).{0,60}(times|too large|larger|sum of)
    |(not|without|never)( \w+)? (divi|averag|normali)|added up
Place: gradient_accumulation_steps|loss|accum
"""

import torch
import torch.nn.functional as F
from torch import nn

config = {
    "gradient_accumulation_steps": 16,
    "micro_batch": 8,
    "updates": 40,
    "temperature": 2.0,
    "learning_rate": 0.5,
    "alpha": 0.7,
}


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


class DistillTrainer:
    def __init__(self, teacher, student, config):
        self.teacher, self.student, self.config = teacher.eval(), student, config
        self.optimizer = torch.optim.SGD(
            student.parameters(), lr=config["learning_rate"], momentum=0.9
        )

    def compute_loss(self, x, y):
        t, alpha = self.config["temperature"], self.config["alpha"]
        out = self.student(x)
        with torch.no_grad():
            soft = F.softmax(self.teacher(x) / t, dim=1)
        kd = F.kl_div(F.log_softmax(out / t, dim=1), soft, reduction="batchmean") * t * t
        return alpha * kd + (1 - alpha) * F.cross_entropy(out, y)

    def update(self, draw):
        self.optimizer.zero_grad()
        total = 0.0
        for _ in range(self.config["gradient_accumulation_steps"]):
            loss = self.compute_loss(*draw(self.config["micro_batch"]))
            loss.backward()  # here
            total += loss.item()
        self.optimizer.step()
        return total / self.config["gradient_accumulation_steps"]


def main():
    torch.manual_seed(67)
    centres = torch.randn(6, 3, 12)

    def draw(count):
        y = torch.randint(0, 6, (count,))
        x = centres[y, torch.randint(0, 3, (count,))] + 0.6 * torch.randn(count, 12)
        return x, y

    teacher = mlp(12, 128, 128, 6)
    warm = torch.optim.Adam(teacher.parameters(), lr=2e-3)
    for _ in range(120):
        x, y = draw(128)
        loss = F.cross_entropy(teacher(x), y)
        warm.zero_grad()
        loss.backward()
        warm.step()
    student = mlp(12, 32, 32, 6)
    trainer = DistillTrainer(teacher, student, config)
    x, y = draw(1000)
    for step in range(config["updates"]):
        loss = trainer.update(draw)
        if step % 8 == 7:
            with torch.no_grad():
                right = (student(x).argmax(1) == y).float().mean().item()
                large = (teacher(x).argmax(1) == y).float().mean().item()
            print(f"update {step + 1} loss {loss:.3f} student {right:.3f} teacher {large:.3f}")


main()
