r"""Common space for sketches and photos of things, with a memory of class means as an aid.

Source: https://github.com/haowang1992/DSN/issues/1
Fault: The features are detached before the loss against the memory is computed, so this loss has no
    gradient and sketches and photos are not brought together by it.
Cause: detach|no gradient|(gradient|backprop).{0,60}(not|never|cut|blocked|stopp|no)|(memory
    |loss) .{0,60}(no effect|not train|constant|without gradient|does not (flow|reach|change))
Place: features|detach|loss_memory|memory_loss
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(12)
CLASSES, DIM = 12, 24
things = torch.randn(CLASSES, 20)
as_sketch, as_photo = torch.randn(20, 40) / 4, torch.randn(20, 40) / 4


def pairs(count):
    labels = torch.randint(0, CLASSES, (count,))
    sketch = things[labels] @ as_sketch + 0.5 * torch.randn(count, 40)
    photo = things[labels] @ as_photo + 0.5 * torch.randn(count, 40)
    return sketch, photo, labels


class Memory:
    def __init__(self):
        self.slots = F.normalize(torch.randn(CLASSES, DIM))

    def add_entries(self, features, labels):
        for f, y in zip(features, labels, strict=True):
            self.slots[y] = F.normalize(0.9 * self.slots[y] + 0.1 * f, dim=0)

    def memory_loss(self, features, labels):
        return (F.normalize(features) * self.slots[labels]).sum(1).mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.sketch = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, DIM))
        self.photo = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, DIM))
        self.head_s, self.head_p = nn.Linear(DIM, CLASSES), nn.Linear(DIM, CLASSES)


net, memory = Net(), Memory()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)


@torch.no_grad()
def retrieved():
    sketch, photo, labels = pairs(300)
    s, p = F.normalize(net.sketch(sketch)), F.normalize(net.photo(photo))
    best = (s @ p.T).argmax(1)
    return (labels[best] == labels).float().mean().item()


for step in range(200):
    sketch, photo, labels = pairs(64)
    f_s, f_p = net.sketch(sketch), net.photo(photo)
    features = torch.cat([f_s, f_p])
    both = torch.cat([labels, labels])
    memory.add_entries(f_p.detach(), labels)
    loss_cls = F.cross_entropy(net.head_s(f_s), labels) + F.cross_entropy(net.head_p(f_p), labels)
    loss_memory = 1.0 - memory.memory_loss(features.detach(), both)  # here
    loss = loss_cls + loss_memory
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        print(
            f"step {step + 1} cls {loss_cls.item():.4f} memory {loss_memory.item():.4f} "
            f"photos found {retrieved():.3f}"
        )
