r"""Multi-class dice loss out of a box of losses, on rendered cross-sections with three organs.

Source: https://github.com/Hsuxu/Loss_ToolBox-PyTorch/issues/11
Fault: DiceLoss makes probabilities with a softmax and BinaryDiceLoss then puts a sigmoid on them;
    what lies between 0 and 1 becomes 0.5 to 0.73, so no class can be ruled out.
Cause: (sigmoid|activation|squash\w*).{0,140}(softmax|twice|second|again|double|already|probabilit
    |two|both)|(softmax|probabilit\w*).{0,140}(sigmoid|twice|second activation|double)|0\.5 (to
    |and|\.\.)|(two|double) (activations?|squash)
Place: BinaryDiceLoss|DiceLoss|sigmoid|forward|softmax|output
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(10)
np.random.seed(10)


def make_one_hot(input, num_classes):
    """Convert class index tensor to one hot encoding tensor."""
    shape = np.array(input.shape)
    shape[1] = num_classes
    shape = tuple(shape)
    result = torch.zeros(shape)
    result = result.scatter_(1, input, 1)
    return result


class BinaryDiceLoss(nn.Module):
    """Dice loss of binary class"""

    def __init__(self, ignore_index=None, reduction="mean"):
        super(BinaryDiceLoss, self).__init__()
        self.smooth = 1  # suggest set a large number when target area is large
        self.ignore_index = ignore_index
        self.reduction = reduction
        self.batch_dice = False

    def forward(self, output, target):
        assert output.shape[0] == target.shape[0], "output & target batch size don't match"
        output = torch.sigmoid(output)  # here

        if self.ignore_index is not None:
            validmask = (target != self.ignore_index).float()
            output = output.mul(validmask)
            target = target.float().mul(validmask)

        dim0 = output.shape[0]
        if self.batch_dice:
            dim0 = 1

        output = output.contiguous().view(dim0, -1)
        target = target.contiguous().view(dim0, -1).float()

        num = 2 * torch.sum(torch.mul(output, target), dim=1) + self.smooth
        den = torch.sum(output.abs() + target.abs(), dim=1) + self.smooth

        loss = 1 - (num / den)

        if self.reduction == "mean":
            return loss.mean()
        elif self.reduction == "sum":
            return loss.sum()
        elif self.reduction == "none":
            return loss


class DiceLoss(nn.Module):
    """Dice loss of all classes, target is a map of class numbers"""

    def __init__(self, weight=None, ignore_index=None, **kwargs):
        super(DiceLoss, self).__init__()
        self.kwargs = kwargs
        self.weight = weight
        self.ignore_index = ignore_index

    def forward(self, output, target):
        output = F.softmax(output, dim=1)
        target = make_one_hot(target, output.shape[1])
        dice = BinaryDiceLoss(**self.kwargs)
        total_loss = 0
        total_loss_num = 0
        for i in range(target.shape[1]):
            if i != self.ignore_index:
                dice_loss = dice(output[:, i], target[:, i])
                if self.weight is not None:
                    dice_loss *= self.weight[i]
                total_loss += dice_loss
                total_loss_num += 1
        return total_loss / total_loss_num


def make_sections(n, size=28):
    yy, xx = np.mgrid[0:size, 0:size]
    img = np.zeros((n, 1, size, size), dtype=np.float32)
    lab = np.zeros((n, 1, size, size), dtype=np.int64)
    for i in range(n):
        body = ((yy - 14) / 12) ** 2 + ((xx - 14) / 13) ** 2 < 1
        img[i, 0][body] = 0.3
        for c, (cy, cx, ry, rx, v) in enumerate(
                [(13, 8, 5, 4, 0.6), (9, 20, 3, 3, 0.9), (19, 18, 2, 4, 0.75)], 1):
            cy, cx = cy + np.random.uniform(-2, 2), cx + np.random.uniform(-2, 2)
            m = ((yy - cy) / ry) ** 2 + ((xx - cx) / rx) ** 2 < 1
            img[i, 0][m] = v
            lab[i, 0][m] = c
    img += 0.12 * np.random.randn(*img.shape)
    return TensorDataset(torch.from_numpy(img), torch.from_numpy(lab))


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class Net(nn.Module):
    def __init__(self, n_class=4):
        super().__init__()
        self.c1, self.c2, self.c3 = conv(1, 16), conv(16, 32), conv(48, 16)
        self.out = nn.Conv2d(16, n_class, 1)

    def forward(self, x):
        a = self.c1(x)
        b = self.c2(F.max_pool2d(a, 2))
        b = F.interpolate(b, scale_factor=2)
        return self.out(self.c3(torch.cat([a, b], 1)))


if __name__ == "__main__":
    net = Net()
    criterion = DiceLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    train_loader = DataLoader(make_sections(240), batch_size=16, shuffle=True)
    test_x, test_y = make_sections(60).tensors
    for epoch in range(6):
        net.train()
        losses = []
        for x, y in train_loader:
            loss = criterion(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        net.eval()
        with torch.no_grad():
            prob = F.softmax(net(test_x), dim=1)
            pred = prob.argmax(1, keepdim=True)
        dices = [(2 * ((pred == c) & (test_y == c)).sum() /
                  ((pred == c).sum() + (test_y == c).sum())).item() for c in range(4)]
        print("epoch", epoch, "loss %.4f" % np.mean(losses),
              "dice of the classes", ["%.3f" % d for d in dices])
