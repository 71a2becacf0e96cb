r"""Few-shot masks: the query is to be cut out as the support picture shows.

Source: https://github.com/HKUSTCV/FSS-1000/issues/20
Fault: The pictures are scaled to 0..1 but the masks keep their grey values 0 and 255, which the
    sigmoid can never reach, so everything is driven to the foreground.
Cause: 255|(mask|label|target)\w*.{0,60}(normali[sz]|scal|range|divid|out of|beyond|outside|above 1
    |larger than|bigger than|values? up)|(sigmoid|output)\w*.{0,60}(range|cannot|never|can't
    |saturat)|saturat\w+
Place: query_labels|support_labels|labels?|masks?|query_mask|load_batch
"""

import random

import torch
from torch import nn

torch.manual_seed(21)
random.seed(21)


def draw(kind, size=16):
    image = torch.randint(0, 60, (size, size))
    mask = torch.zeros(size, size, dtype=torch.uint8)
    top, left = random.randint(0, size - 8), random.randint(0, size - 8)
    other_top, other_left = random.randint(0, size - 8), random.randint(0, size - 8)
    shade = 140 if kind else 230
    image[other_top : other_top + 7, other_left : other_left + 7] = 370 - shade
    image[top : top + 7, left : left + 7] = shade
    mask[top : top + 7, left : left + 7] = 255
    return image, mask


def load_batch(class_num=16):
    pictures, masks = [], []
    for _ in range(class_num):
        kind = random.random() < 0.5
        support, support_mask = draw(kind)
        query, query_mask = draw(kind)
        pictures.append(torch.stack([support, support * (support_mask > 0), query]))
        masks.append(query_mask)
    query_inputs = torch.stack(pictures).float() / 255.0
    query_labels = torch.stack(masks).float()  # here
    return query_inputs, query_labels


class RelationNetwork(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.support = nn.Sequential(
            nn.Conv2d(2, hidden, 3, padding=1), nn.ReLU(), nn.AdaptiveMaxPool2d(1)
        )
        self.query = nn.Conv2d(1, hidden, 3, padding=1)
        self.relation = nn.Sequential(
            nn.Conv2d(2 * hidden, hidden, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(hidden, 1, 3, padding=1),
        )

    def forward(self, x):
        features = torch.relu(self.query(x[:, 2:]))
        support = self.support(x[:, :2]).expand_as(features)
        return torch.sigmoid(self.relation(torch.cat([features, support], 1))).squeeze(1)


relation_network = RelationNetwork()
optimizer = torch.optim.Adam(relation_network.parameters(), lr=5e-3)
mse = nn.MSELoss()
for episode in range(150):
    query_inputs, query_labels = load_batch()
    output = relation_network(query_inputs)
    loss = mse(output, query_labels)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(relation_network.parameters(), 0.5)
    optimizer.step()
    if (episode + 1) % 30 == 0:
        chosen, truth = output > 0.5, query_labels > 0
        iou = (chosen & truth).sum() / (chosen | truth).sum()
        print(f"episode {episode + 1} loss {loss.item():.4f} iou {iou.item():.3f}")
