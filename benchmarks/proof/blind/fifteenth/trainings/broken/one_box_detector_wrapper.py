r"""Light wrapper that fits a one-box detector and returns its validation losses.

Source: https://github.com/alankbi/detecto/pull/38
Fault: the validation loop of fit() runs over the training data instead of val_dataset, so the
    returned validation loss follows the training loss and hides the overfitting.
Cause: (\bval(?!ue)\w*|evaluat\w*|held.?out).{0,120}train\w*.{0,12}(data|set|loader|samples|images
    |batches|examples|rows)
    |train\w*.{0,12}(data|set|loader|samples|images|batches|examples|rows)\b.{0,100}(\bval(?!ue)
    |evaluat|measured|tested)
    |(same|identical).{0,40}(data|batches|samples|images|loader|dataset).{0,100}(\bval(?!ue)|evaluat
    |test)
    |val_dataset.{0,100}(never|not|unused|nowhere)
Place: dataset|val_dataset|fit|val_loader
"""
import torch
import torch.nn as nn
from torch.utils.data import Dataset

IMG = 24


class SquaresDataset(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.images, self.targets = [], []
        for _ in range(n):
            img = 0.4 * torch.randn(1, IMG, IMG, generator=g)
            w, h = torch.randint(6, 12, (2,), generator=g).tolist()
            x = torch.randint(0, IMG - w, (1,), generator=g).item()
            y = torch.randint(0, IMG - h, (1,), generator=g).item()
            label = torch.randint(0, 2, (1,), generator=g).item()
            patch = torch.ones(h, w)
            if label == 1:
                patch[::2] = -1.0
            img[0, y:y + h, x:x + w] += patch
            self.images.append(img)
            box = torch.tensor([x, y, x + w, y + h], dtype=torch.float) / IMG
            self.targets.append({'boxes': box, 'labels': torch.tensor(label)})

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        return self.images[idx], self.targets[idx]


class DataLoader(torch.utils.data.DataLoader):
    def __init__(self, dataset, **kwargs):
        kwargs['collate_fn'] = DataLoader.collate_data
        super().__init__(dataset, **kwargs)

    @staticmethod
    def collate_data(batch):
        images, targets = zip(*batch)
        return list(images), list(targets)


class OneBoxNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(16 * 6 * 6, 128), nn.ReLU())
        self.box = nn.Linear(128, 4)
        self.cls = nn.Linear(128, num_classes)

    def forward(self, images, targets=None):
        x = self.features(torch.stack(images))
        boxes, logits = self.box(x), self.cls(x)
        if targets is None:
            return boxes, logits.argmax(1)
        gt_boxes = torch.stack([t['boxes'] for t in targets])
        gt_labels = torch.stack([t['labels'] for t in targets])
        return {'loss_box_reg': nn.functional.smooth_l1_loss(boxes, gt_boxes, beta=0.1),
                'loss_classifier': nn.functional.cross_entropy(logits, gt_labels)}


class Model:
    def __init__(self, classes=None):
        self._classes = classes
        self._int_mapping = {label: index for index, label in enumerate(self._classes)}
        self._model = OneBoxNet(len(self._classes))

    def predict(self, images):
        self._model.eval()
        with torch.no_grad():
            boxes, labels = self._model(images)
        return [self._classes[i] for i in labels.tolist()], boxes

    def fit(self, dataset, val_dataset=None, epochs=10, learning_rate=0.005, momentum=0.9,
            weight_decay=0.0005, gamma=0.1, lr_step_size=3, verbose=False):
        if not isinstance(dataset, DataLoader):
            dataset = DataLoader(dataset, batch_size=8, shuffle=True)
        if val_dataset is not None and not isinstance(val_dataset, DataLoader):
            val_dataset = DataLoader(val_dataset, batch_size=8)

        losses = []
        parameters = [p for p in self._model.parameters() if p.requires_grad]
        optimizer = torch.optim.SGD(parameters, lr=learning_rate, momentum=momentum,
                                    weight_decay=weight_decay)
        lr_scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=lr_step_size,
                                                       gamma=gamma)
        for epoch in range(epochs):
            if verbose:
                print('Epoch {} of {}'.format(epoch + 1, epochs))
            self._model.train()
            for images, targets in dataset:
                loss_dict = self._model(images, targets)
                total_loss = sum(loss for loss in loss_dict.values())
                optimizer.zero_grad()
                total_loss.backward()
                optimizer.step()

            if val_dataset is not None:
                avg_loss = 0
                with torch.no_grad():
                    for images, targets in dataset:  # here
                        loss_dict = self._model(images, targets)
                        total_loss = sum(loss for loss in loss_dict.values())
                        avg_loss += total_loss.item()
                avg_loss /= len(val_dataset)
                losses.append(avg_loss)
                if verbose:
                    print('Loss: {}'.format(avg_loss))

            lr_scheduler.step()

        if len(losses) > 0:
            return losses


def box_iou(a, b):
    lt = torch.max(a[:, :2], b[:, :2])
    rb = torch.min(a[:, 2:], b[:, 2:])
    inter = (rb - lt).clamp(min=0).prod(1)
    area = (a[:, 2:] - a[:, :2]).prod(1) + (b[:, 2:] - b[:, :2]).prod(1)
    return inter / (area - inter + 1e-6)


if __name__ == '__main__':
    torch.manual_seed(4)
    dataset = SquaresDataset(80, seed=0)
    val_dataset = SquaresDataset(80, seed=1)

    model = Model(['plain', 'striped'])
    losses = model.fit(dataset, val_dataset, epochs=40, learning_rate=0.02, lr_step_size=30,
                       verbose=True)
    print('losses', [round(v, 4) for v in losses[::5]])

    images = [val_dataset[i][0] for i in range(len(val_dataset))]
    labels, boxes = model.predict(images)
    gt = torch.stack([val_dataset[i][1]['boxes'] for i in range(len(val_dataset))])
    hit = sum(model._int_mapping[lab] == val_dataset[i][1]['labels'].item()
              for i, lab in enumerate(labels))
    print('val: mean iou {:.3f}, labels right {}/{}'.format(box_iou(boxes, gt).mean().item(), hit,
                                                            len(labels)))
