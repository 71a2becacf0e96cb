r"""A minimal YOLO of the first version, with its loss, for coloured rectangles.

Source: https://github.com/duanyiqun/YOLO-Minimal/issues/2
Fault: the masks of cells with and without an object are read from channel 5 of the target, which is
    the first class; the confidence is channel 4. Only objects of the first class count as objects,
    all others are trained to be "no object" and get no boxes and no classes.
Cause: (index|channel|column|entry|slot|offset|position).*(5|4|wrong|class|confiden|object)
    |(confiden|object(ness)?|obj).*(index|channel|column|mask|wrong|class|5|4)
    |mask.*(wrong|class|channel|column|index|confiden)|first class
    |class (score|label|probab|one-hot).*(mask|object|confiden)
Place: coord_mask|noobj_mask|target_tensor|yoloLoss|mask|criterion|target|loss
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

S, B, C = 4, 1, 3
SIZE = 32


class yoloLoss(nn.Module):
    def __init__(self, l_coord=5.0, l_noobj=0.5):
        super(yoloLoss, self).__init__()
        self.l_coord = l_coord
        self.l_noobj = l_noobj

    def forward(self, pred_tensor, target_tensor):
        """
        both are (batch, S * S, 5 + C), with x, y, w, h, confidence and then the classes
        """
        N = pred_tensor.size(0)
        coord_mask = target_tensor[:, :, 5] > 0  # here
        noobj_mask = target_tensor[:, :, 5] == 0  # here

        coord_pred = pred_tensor[coord_mask]
        coord_target = target_tensor[coord_mask]
        noobj_pred = pred_tensor[noobj_mask]

        nooobj_loss = (noobj_pred[:, 4] ** 2).sum()
        contain_loss = ((coord_pred[:, 4] - 1) ** 2).sum()
        xy_loss = F.mse_loss(coord_pred[:, :2], coord_target[:, :2], reduction='sum')
        wh_loss = F.mse_loss(coord_pred[:, 2:4].clamp(min=1e-6).sqrt(),
                             coord_target[:, 2:4].sqrt(), reduction='sum')
        class_loss = F.mse_loss(coord_pred[:, 5:], coord_target[:, 5:], reduction='sum')
        loss = (self.l_coord * (xy_loss + wh_loss) + contain_loss
                + self.l_noobj * nooobj_loss + class_loss)
        return loss / N


def conv_bn(inp, oup, stride=1):
    return nn.Sequential(
        nn.Conv2d(inp, oup, 3, stride, 1, bias=False),
        nn.BatchNorm2d(oup),
        nn.LeakyReLU(0.1),
    )


class YoloMinimal(nn.Module):
    def __init__(self, width=16):
        super(YoloMinimal, self).__init__()
        self.backbone = nn.Sequential(
            conv_bn(3, width, 2),
            conv_bn(width, 2 * width, 2),
            conv_bn(2 * width, 2 * width, 2),
            conv_bn(2 * width, 4 * width),
        )
        self.detect = nn.Conv2d(4 * width, 5 * B + C, 1)
        self.criterion = yoloLoss()

    def predict(self, img):
        x = self.detect(self.backbone(img))
        x = torch.sigmoid(x)
        return x.permute(0, 2, 3, 1).reshape(img.size(0), S * S, 5 * B + C)

    def forward(self, img, target):
        return self.criterion(self.predict(img), target)


COLOURS = torch.tensor([[1.0, 0.1, 0.1], [0.1, 1.0, 0.1], [0.1, 0.1, 1.0]])


def make_scenes(n=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    img = 0.1 * torch.randn(n, 3, SIZE, SIZE, generator=g)
    target = torch.zeros(n, S, S, 5 + C)
    cell = SIZE // S
    for i in range(n):
        for _ in range(2):
            w, h = torch.randint(5, 12, (2,), generator=g).tolist()
            x = int(torch.randint(0, SIZE - w, (1,), generator=g))
            y = int(torch.randint(0, SIZE - h, (1,), generator=g))
            k = int(torch.randint(0, C, (1,), generator=g))
            cx, cy = x + w / 2, y + h / 2
            r, c = int(cy // cell), int(cx // cell)
            if target[i, r, c, 4] > 0:
                continue
            img[i, :, y:y + h, x:x + w] = COLOURS[k].view(3, 1, 1)
            target[i, r, c, :5] = torch.tensor(
                [cx / cell - c, cy / cell - r, w / SIZE, h / SIZE, 1.0])
            target[i, r, c, 5 + k] = 1.0
    return img, target.view(n, S * S, 5 + C)


def build():
    torch.manual_seed(0)
    return YoloMinimal()


def example_inputs():
    return make_scenes(8)
