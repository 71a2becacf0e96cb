r"""Depth of pixels with a teacher that is frozen after some epochs.

Source: https://github.com/nianticlabs/manydepth/issues/46
Fault: When the teacher is frozen, a new optimizer and a new scheduler are made, which count from
    epoch 0 again, so the learning rate is never lowered within the run.
Cause: (schedul|learning rate|\blr\b|optimi).{0,140}(reset|anew|restart|from (scratch|zero|0)
    |starts? (again|over)|counts? .{0,20}again|never (decay|lower|drop|reach|fire)|recreat
    |re-creat|rebuil|reinit|re-init|new (optimi|schedul)|made again|second time|not .{0,20}(decay
    |lower|drop))|new (optimi|schedul).{0,120}(count|zero|epoch|again|lose|forget)
Place: scheduler|model_lr_scheduler|optimizer|freeze_teacher|step_size|lr_scheduler|last_epoch
"""

import torch
from torch import nn

torch.manual_seed(241)
PIXELS, EPOCHS, FREEZE_EPOCH, STEP_SIZE, RATE = 10, 20, 14, 15, 0.3
mix = torch.randn(PIXELS, PIXELS) / PIXELS**0.5


def frames(count):
    scene = torch.randn(count, PIXELS)
    depth = torch.tanh(scene @ mix).abs() + 0.5 * torch.randn(count, PIXELS)
    return scene, depth


def network():
    return nn.Sequential(nn.Linear(PIXELS, 32), nn.ReLU(), nn.Linear(32, PIXELS))


class Trainer:
    def __init__(self):
        self.teacher, self.student = network(), network()
        self.set_optimizer([*self.teacher.parameters(), *self.student.parameters()])
        self.train_set, self.test_set = frames(800), frames(800)

    def set_optimizer(self, parameters):
        self.optimizer = torch.optim.SGD(parameters, lr=RATE, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, STEP_SIZE, gamma=0.1)

    def freeze_teacher(self):
        for p in self.teacher.parameters():
            p.requires_grad_(False)
        self.set_optimizer(self.student.parameters())  # here

    def run_epoch(self):
        scenes, depths = self.train_set
        for rows in torch.randperm(len(scenes)).split(8):
            student, teacher = self.student(scenes[rows]), self.teacher(scenes[rows])
            loss = nn.functional.mse_loss(student, depths[rows])
            if teacher.requires_grad:
                loss = loss + nn.functional.mse_loss(teacher, depths[rows])
            else:
                loss = loss + 0.1 * nn.functional.mse_loss(student, teacher)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.scheduler.step()
        return loss.item()

    def test(self):
        with torch.no_grad():
            return nn.functional.mse_loss(self.student(self.test_set[0]), self.test_set[1]).item()


trainer = Trainer()
for epoch in range(EPOCHS):
    if epoch == FREEZE_EPOCH:
        trainer.freeze_teacher()
    loss = trainer.run_epoch()
    if epoch % 4 == 3:
        rate = trainer.optimizer.param_groups[0]["lr"]
        print(f"epoch {epoch + 1} rate {rate:.4f} loss {loss:.4f} test {trainer.test():.4f}")
