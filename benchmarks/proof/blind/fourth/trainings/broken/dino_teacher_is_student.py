r"""Self-distillation with a centre and a sharper teacher that should follow by averaging.

Source: https://github.com/facebookresearch/dinov2/issues/407
Fault: Student and teacher have one and the same backbone, not copies.
Cause: same (module|object|network|model|parameters?|weights?|instance|backbone)|shar(es?|ed)\b
    |(teacher|student)\w* .*(is|are|equals?) .*(student|teacher)|collaps\w*
Place: teacher
"""

import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(20, 48), nn.GELU(), nn.Linear(48, 24))
student_backbone = encoder
teacher_backbone = encoder  # here
student_head, teacher_head = nn.Linear(24, 16), nn.Linear(24, 16)
teacher_head.load_state_dict(student_head.state_dict())
teacher_head.requires_grad_(False)
parts = [*student_backbone.parameters(), *student_head.parameters()]
optimizer = torch.optim.AdamW(parts, lr=2e-3)
data = torch.randn(6, 20).repeat(60, 1) + 0.3 * torch.randn(360, 20)
center = torch.zeros(1, 16)
for step in range(80):
    x = data[torch.randint(0, 360, (64,))]
    one, two = x + 0.2 * torch.randn_like(x), x + 0.2 * torch.randn_like(x)
    with torch.no_grad():
        teacher_out = teacher_head(teacher_backbone(one))
        targets = ((teacher_out - center) / 0.04).softmax(1)
        center = 0.9 * center + 0.1 * teacher_out.mean(0, keepdim=True)
    student_out = student_head(student_backbone(two)) / 0.1
    loss = -(targets * student_out.log_softmax(1)).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for s, t in zip(student_backbone.parameters(), teacher_backbone.parameters(), strict=True):
            t.mul_(0.99).add_(0.01 * s)
        for s, t in zip(student_head.parameters(), teacher_head.parameters(), strict=True):
            t.mul_(0.99).add_(0.01 * s)
print(f"loss {loss.item():.3f}")
