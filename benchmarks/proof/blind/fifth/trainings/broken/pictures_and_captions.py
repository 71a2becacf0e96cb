r"""Contrastive training of an encoder of pictures and one of captions.

Source: https://github.com/Zasder3/train-CLIP/issues/6
Fault: The argmax has no axis, so it returns one index of the whole matrix for all rows.
Cause: argmax|(dim|axis) .*(miss|none|no |not)|flatten\w*|whole matrix
    |accuracy .*(wrong|zero|contradict|disagree|inconsistent)
Place: \bacc_[it]\b
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


class CLIPWrapper(nn.Module):
    def __init__(self, picture=30, words=60, dim=24):
        super().__init__()
        self.visual = nn.Sequential(nn.Linear(picture, 64), nn.ReLU(), nn.Linear(64, dim))
        self.text = nn.EmbeddingBag(words, dim, mode="sum")
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, picture, text):
        image = F.normalize(self.visual(picture), dim=1)
        text = F.normalize(self.text(text), dim=1)
        return image @ text.t() * self.logit_scale.exp()


def training_step(model, picture, text):
    image_logits = model(picture, text)
    ground_truth = torch.arange(len(image_logits))
    loss = F.cross_entropy(image_logits, ground_truth)
    loss = (loss + F.cross_entropy(image_logits.t(), ground_truth)) / 2
    acc_i = (torch.argmax(image_logits) == ground_truth).sum()  # here
    acc_t = (torch.argmax(image_logits.t()) == ground_truth).sum()  # here
    return loss, (acc_i + acc_t).item() / 2 / len(image_logits)


def main():
    torch.manual_seed(0)
    looks = torch.randn(60, 30)
    model = CLIPWrapper()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.01)
    for step in range(90):
        text = torch.randint(0, 60, (48, 3))
        picture = looks[text].sum(1) + 0.3 * torch.randn(48, 30)
        loss, acc = training_step(model, picture, text)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 30 == 29:
            print(f"step {step + 1} loss {loss.item():.4f} acc {acc:.4f}")


if __name__ == "__main__":
    main()
