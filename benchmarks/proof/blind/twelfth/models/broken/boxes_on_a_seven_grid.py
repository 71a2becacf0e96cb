r"""A first-generation one-shot detector with its loss, as written by a study group.

Source: https://github.com/DeepBaksuVision/You_Only_Look_Once/issues/7
Fault: The loss takes the square root of the predicted width and height, which come from the last
    layer with any sign: a negative one gives NaN, in value and gradient.
Cause: (sqrt|square[ -]root|root).{0,120}(negative|nan|sign|below zero|unbounded|unconstrained|raw
    |less than|non-?positive|domain|infinite|zero)|negative .{0,80}(sqrt|root|width|height|size)
    |(width|height|size|w and h|w, h).{0,80}(negative|below zero|any sign|not (constrained|bounded))
Place: sqrt|loss|pred_w\w*|pred_h\w*|width|height|fc2?|detection_loss_4_yolo
"""

import torch
import torch.nn as nn


def conv_bn(cin, cout, kernel=3, stride=1, padding=1):
    return nn.Sequential(
        nn.Conv2d(cin, cout, kernel_size=kernel, stride=stride, padding=padding),
        nn.BatchNorm2d(cout),
        nn.LeakyReLU(0.1))


def detection_loss_4_yolo(output, target, num_classes, l_coord=5.0, l_noobj=0.5):
    """
    output: b, S, S, 5 + C      (objness, x, y, w, h, class scores)
    target: b, S, S, 6          (objness, class, x, y, w, h)
    """
    b = output.shape[0]
    objness_label = target[:, :, :, 0]
    class_label = target[:, :, :, 1].long()
    x_label, y_label = target[:, :, :, 2], target[:, :, :, 3]
    w_label, h_label = target[:, :, :, 4], target[:, :, :, 5]
    noobjness_label = torch.neg(torch.add(objness_label, -1))

    objness = output[:, :, :, 0]
    x_offset, y_offset = output[:, :, :, 1], output[:, :, :, 2]
    width_ratio, height_ratio = output[:, :, :, 3], output[:, :, :, 4]
    class_output = output[:, :, :, 5:]

    obj_coord1_loss = l_coord * torch.sum(objness_label * (
        torch.pow(x_offset - x_label, 2) + torch.pow(y_offset - y_label, 2)))
    obj_size1_loss = l_coord * torch.sum(objness_label * (
        torch.pow(torch.sqrt(width_ratio) - torch.sqrt(w_label), 2) +  # here
        torch.pow(torch.sqrt(height_ratio) - torch.sqrt(h_label), 2)))  # here

    class_onehot = nn.functional.one_hot(class_label, num_classes).float()
    noobjness1_loss = l_noobj * torch.sum(noobjness_label * torch.pow(objness, 2))
    objness1_loss = torch.sum(objness_label * torch.pow(objness - objness_label, 2))
    class_loss = torch.sum(objness_label.unsqueeze(-1) * torch.pow(class_output - class_onehot, 2))

    total_loss = obj_coord1_loss + obj_size1_loss + noobjness1_loss + objness1_loss + class_loss
    return total_loss / b


class YOLOv1(nn.Module):
    def __init__(self, num_classes=3, grid=7, width=16):
        super(YOLOv1, self).__init__()
        self.num_classes = num_classes
        self.grid = grid
        self.layer1 = nn.Sequential(conv_bn(3, width, 7, 2, 3), nn.MaxPool2d(2, 2))
        self.layer2 = nn.Sequential(conv_bn(width, width * 2), nn.MaxPool2d(2, 2))
        self.layer3 = nn.Sequential(conv_bn(width * 2, width, 1, 1, 0), conv_bn(width, width * 2))
        self.fc1 = nn.Sequential(
            nn.Linear(grid * grid * width * 2, 256), nn.LeakyReLU(0.1), nn.Dropout(0.3))
        self.fc2 = nn.Linear(256, grid * grid * (5 + num_classes))

        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_in", nonlinearity="leaky_relu")
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, std=0.01)
                m.bias.data.zero_()

    def forward(self, x, target=None):
        out = self.layer1(x)
        out = self.layer2(out)
        out = self.layer3(out)
        out = out.reshape(out.size(0), -1)
        out = self.fc1(out)
        out = self.fc2(out)
        out = out.reshape(-1, self.grid, self.grid, 5 + self.num_classes)
        if target is None:
            return out
        return detection_loss_4_yolo(out, target, self.num_classes)


def build():
    torch.manual_seed(0)
    return YOLOv1()


def example_inputs():
    torch.manual_seed(1)
    x = torch.rand(4, 3, 56, 56)
    target = torch.zeros(4, 7, 7, 6)
    for i in range(4):
        for _ in range(2):
            r, c = torch.randint(0, 7, (2,)).tolist()
            cls = torch.randint(0, 3, (1,)).item()
            target[i, r, c] = torch.tensor([1.0, cls, 0.5, 0.4, 0.3, 0.2])
    return x, target
