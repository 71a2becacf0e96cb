r"""Small language model that learns from a large one on texts that it has written itself.

Source: https://github.com/songmzhang/KDFlow/issues/4
Fault: The schedule of the learning rate is made for the number of rollouts but is stepped at every
    update, of which a rollout has several, so the rate is at zero after a quarter of the training.
Cause: (schedul|learning rate|lr|decay|total_steps|num_training_steps).{0,120}(too (fast|early|soon
    |quick|short)|rollout|per update|every (update|mini|batch|optimizer)|each (update|mini|batch)
    |(reach|fall|go|drop|decay)\w* (to )?(zero|0)|quarter|wrong (number|count|total)|mismatch
    |exhaust)|(rollout|outer).{0,80}(schedul|total_steps|decay)
Place: scheduler|total_steps|num_rollouts|LambdaLR|step|linear_decay|ROLLOUTS
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(4)
VOCAB, LENGTH, ROLLOUTS, INNER = 16, 10, 40, 4


class Writer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, tokens):
        return self.head(self.gru(self.embedding(tokens))[0])


teacher, student = Writer(64), Writer(24)
with torch.no_grad():
    teacher.head.weight.mul_(12)
optimizer = torch.optim.AdamW(student.parameters(), lr=8e-3)
total_steps = ROLLOUTS  # here
scheduler = torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda step: max(0.0, 1 - step / total_steps)
)


@torch.no_grad()
def generate(count=64):
    tokens = torch.randint(0, VOCAB, (count, 1))
    for _ in range(LENGTH):
        probabilities = student(tokens)[:, -1].softmax(-1)
        tokens = torch.cat([tokens, torch.multinomial(probabilities, 1)], 1)
    return tokens


for rollout in range(ROLLOUTS):
    tokens = generate()
    with torch.no_grad():
        teacher_logits = teacher(tokens)
    for rows in torch.randperm(len(tokens)).chunk(INNER):
        student_log = F.log_softmax(student(tokens[rows]), -1)
        teacher_log = F.log_softmax(teacher_logits[rows], -1)
        loss = F.kl_div(student_log.flatten(0, 1), teacher_log.flatten(0, 1),
                        log_target=True, reduction="batchmean")  # fmt: skip
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
    if rollout % 8 == 7:
        print(f"rollout {rollout + 1} kl {loss.item():.4f}")
