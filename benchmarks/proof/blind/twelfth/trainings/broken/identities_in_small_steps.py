r"""Embeddings of made-up faces with an angular margin, small batches put together to larger ones.

Source: https://github.com/deepinsight/insightface/issues/2258
Fault: the gradients of gradient_acc batches are added up but the loss is not divided by their
    number, so the step is eight times as large as the learning rate says and the training
    does not settle.
Cause: (accumul\w*|gradient_acc|micro.?batch\w*|add(ed|s)? up|summed).{0,160}(divid|scale|averag
    |mean|normali[sz]|times|larger|sum)|(divid|averag|scal|normali[sz])\w*.{0,120}(gradient_acc
    |accumul|number of (steps|batches|micro))|(effective|real).{0,20}(learning rate
    |step).{0,60}(times|larger|higher|multipl)
Place: gradient_acc|loss|backward|accum\w*
"""
import argparse
import logging
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.INFO, format="Training: %(message)s")


class ArcFace(nn.Module):
    def __init__(self, s=16.0, margin=0.3):
        super(ArcFace, self).__init__()
        self.scale = s
        self.cos_m = math.cos(margin)
        self.sin_m = math.sin(margin)
        self.theta = math.cos(math.pi - margin)
        self.sinmm = math.sin(math.pi - margin) * margin

    def forward(self, logits, labels):
        index = torch.arange(len(labels))
        target_logit = logits[index, labels]
        sin_theta = torch.sqrt((1.0 - torch.pow(target_logit, 2)).clamp(min=1e-6))
        cos_theta_m = target_logit * self.cos_m - sin_theta * self.sin_m
        final_target_logit = torch.where(target_logit > self.theta, cos_theta_m,
                                         target_logit - self.sinmm)
        logits = logits.clone()
        logits[index, labels] = final_target_logit
        return logits * self.scale


class PartialFC(nn.Module):
    def __init__(self, margin_loss, embedding_size, num_classes):
        super().__init__()
        self.weight = nn.Parameter(torch.normal(0, 0.01, (num_classes, embedding_size)))
        self.margin_softmax = margin_loss
        self.cross_entropy = nn.CrossEntropyLoss()

    def forward(self, embeddings, labels):
        logits = F.linear(F.normalize(embeddings), F.normalize(self.weight)).clamp(-1, 1)
        return self.cross_entropy(self.margin_softmax(logits, labels), labels)


class Backbone(nn.Module):
    def __init__(self, dim_in=64, embedding_size=32):
        super().__init__()
        self.layer1 = nn.Linear(dim_in, 96)
        self.layer2 = nn.Linear(96, 96)
        self.features = nn.Linear(96, embedding_size)

    def forward(self, x):
        x = F.relu(self.layer1(x))
        x = F.relu(self.layer2(x))
        return self.features(x)


def make_faces(people, per_person, seed):
    g = torch.Generator().manual_seed(seed)
    base = torch.randn(people, 12, generator=torch.Generator().manual_seed(5))
    mix = torch.randn(12, 64, generator=torch.Generator().manual_seed(6))
    y = torch.arange(people).repeat(per_person)
    z = base[y] + 0.45 * torch.randn(len(y), 12, generator=g)
    return torch.tanh(z @ mix / 3) + 0.1 * torch.randn(len(y), 64, generator=g), y


def verification(backbone, x, y):
    backbone.eval()
    with torch.no_grad():
        e = F.normalize(backbone(x))
    sim = e @ e.t()
    same = y[:, None] == y[None]
    off = ~torch.eye(len(y), dtype=torch.bool)
    pos, neg = sim[same & off], sim[~same]
    return max(((pos > t).float().mean() + (neg <= t).float().mean()).item() / 2
               for t in torch.linspace(0, 0.95, 20))


def main(args):
    torch.manual_seed(2048)
    x, y = make_faces(60, 40, 1)
    xv, yv = make_faces(60, 6, 2)
    train_loader = DataLoader(TensorDataset(x, y), batch_size=args.batch_size, shuffle=True,
                              drop_last=True)
    backbone = Backbone()
    module_partial_fc = PartialFC(ArcFace(), 32, 60)
    opt = torch.optim.SGD(
        params=[{"params": backbone.parameters()}, {"params": module_partial_fc.parameters()}],
        lr=args.lr, momentum=0.9, weight_decay=5e-4)
    total_step = args.num_epoch * len(train_loader) // args.gradient_acc
    lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: (1 - min(s, total_step - 1) / total_step) ** 2)
    global_step = 0
    for epoch in range(args.num_epoch):
        backbone.train()
        running = 0.0
        for img, local_labels in train_loader:
            global_step += 1
            local_embeddings = backbone(img)
            loss = module_partial_fc(local_embeddings, local_labels)
            loss.backward()  # here
            if global_step % args.gradient_acc == 0:
                opt.step()
                opt.zero_grad()
                lr_scheduler.step()
            running += loss.item()
        logging.info("epoch %d Loss %.4f LearningRate %.4f verification %.4f", epoch,
                     running / len(train_loader), lr_scheduler.get_last_lr()[0],
                     verification(backbone, xv, yv))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Arcface training")
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--gradient_acc", type=int, default=8)
    parser.add_argument("--num_epoch", type=int, default=14)
    parser.add_argument("--lr", type=float, default=0.2)
    main(parser.parse_args())
