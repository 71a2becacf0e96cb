r"""A light net for the segmentation of hair, with a loss on the gradients of the picture.

Source: https://github.com/wonbeomjang/mobile-hair-segmentation-pytorch/issues/3
Fault: the image gradient loss takes the argmax of the prediction; it has no gradient, so that the
    term shows up in the loss but trains nothing.
Cause: argmax|non-?differentiable|not differentiable|piecewise constant
    |hard (label|mask|class|prediction)
    |(gradient.?loss|image_gradient|term)\w*.*(no|without|zero).*(grad|differenti|train)
    |(gradient.?loss|image_gradient|term)\w*.*(detach|not|constant).*(grad|differenti|train)
    |(gradient.?loss|image_gradient|term)\w*.*(no|without|zero).*(learn|effect|graph)
    |(gradient.?loss|image_gradient|term)\w*.*(detach|not|constant).*(learn|effect|graph)
    |(penalty|part|imagegradientloss)\w*.*(no|without|zero).*(grad|differenti|train)
    |(penalty|part|imagegradientloss)\w*.*(detach|not|constant).*(grad|differenti|train)
    |(penalty|part|imagegradientloss)\w*.*(no|without|zero).*(learn|effect|graph)
    |(penalty|part|imagegradientloss)\w*.*(detach|not|constant).*(learn|effect|graph)
    |(detach|cut|outside|leav)\w*.*(graph|autograd)
Place: argmax|pred|ImageGradientLoss|image_gradient|gradient_loss|loss
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class LayerDepwiseEncode(nn.Module):
    def __init__(self, in_channel, out_channel, kernel_size=3):
        super(LayerDepwiseEncode, self).__init__()
        step = 1 if in_channel == out_channel else 2
        padding = (kernel_size - 1) // 2
        self.depthwise = nn.Conv2d(in_channel, in_channel, kernel_size, stride=step,
                                   padding=padding, groups=in_channel, bias=False)
        self.bn1 = nn.BatchNorm2d(in_channel)
        self.pointwise = nn.Conv2d(in_channel, out_channel, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out_channel)

    def forward(self, x):
        x = F.relu6(self.bn1(self.depthwise(x)))
        return F.relu6(self.bn2(self.pointwise(x)))


class LayerDepwiseDecode(nn.Module):
    def __init__(self, in_channel, out_channel):
        super(LayerDepwiseDecode, self).__init__()
        self.block = nn.Sequential(
            nn.Conv2d(in_channel, in_channel, 3, padding=1, groups=in_channel, bias=False),
            nn.Conv2d(in_channel, out_channel, 1, bias=False),
            nn.BatchNorm2d(out_channel),
            nn.ReLU(),
        )

    def forward(self, x):
        return self.block(x)


class MobileHairNet(nn.Module):
    def __init__(self, width=8):
        super(MobileHairNet, self).__init__()
        self.encode_layer1 = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU6())
        self.encode_layer2 = LayerDepwiseEncode(width, 2 * width)
        self.encode_layer3 = nn.Sequential(
            LayerDepwiseEncode(2 * width, 4 * width), LayerDepwiseEncode(4 * width, 4 * width))
        self.decode_layer1 = LayerDepwiseDecode(4 * width, 2 * width)
        self.decode_layer2 = LayerDepwiseDecode(2 * width, width)
        self.soft_layer = nn.Conv2d(width, 2, kernel_size=1)
        self._init_weight()

    def _init_weight(self):
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.xavier_uniform_(m.weight)

    def forward(self, x):
        e1 = self.encode_layer1(x)
        e2 = self.encode_layer2(e1)
        e3 = self.encode_layer3(e2)
        d = self.decode_layer1(F.interpolate(e3, scale_factor=2, mode='nearest')) + e2
        d = self.decode_layer2(F.interpolate(d, scale_factor=2, mode='nearest')) + e1
        return self.soft_layer(d)


def sobel(img):
    kernel_x = torch.tensor([[1., 0., -1.], [2., 0., -2.], [1., 0., -1.]]).view(1, 1, 3, 3)
    kernel_y = kernel_x.transpose(2, 3)
    return F.conv2d(img, kernel_x, padding=1), F.conv2d(img, kernel_y, padding=1)


class ImageGradientLoss(nn.Module):
    """the outline of the mask shall run along the edges of the picture"""

    def __init__(self, eps=1e-6):
        super(ImageGradientLoss, self).__init__()
        self.eps = eps

    def forward(self, pred, gray_image):
        size = pred.size()
        pred = pred.argmax(1).view(size[0], 1, size[2], size[3]).float()  # here

        I_x, I_y = sobel(gray_image)
        G = torch.sqrt(I_x ** 2 + I_y ** 2 + self.eps)
        I_x, I_y = I_x / G, I_y / G

        M_x, M_y = sobel(pred)
        mask_mag = torch.sqrt(M_x ** 2 + M_y ** 2 + self.eps)
        M_x, M_y = M_x / mask_mag, M_y / mask_mag

        inner = (I_x * M_x + I_y * M_y) ** 2
        return (mask_mag * (1 - inner)).sum() / mask_mag.sum()


class HairMatting(nn.Module):
    def __init__(self, gradient_loss_weight=0.5):
        super(HairMatting, self).__init__()
        self.net = MobileHairNet()
        self.gradient_loss_weight = gradient_loss_weight
        self.image_gradient_loss = ImageGradientLoss()
        self.bce_loss = nn.CrossEntropyLoss()

    def forward(self, image, mask):
        pred = self.net(image)
        gray = image.mean(dim=1, keepdim=True)
        bce_loss = self.bce_loss(pred, mask)
        gradient_loss = self.image_gradient_loss(torch.softmax(pred, dim=1), gray)
        return bce_loss + self.gradient_loss_weight * gradient_loss


def make_heads(n=6, size=24, seed=0):
    g = torch.Generator().manual_seed(seed)
    rows = torch.arange(size).view(size, 1).float()
    cols = torch.arange(size).view(1, size).float()
    image = 0.15 * torch.randn(n, 3, size, size, generator=g)
    mask = torch.zeros(n, size, size, dtype=torch.long)
    for i in range(n):
        r, c = (8 + 8 * torch.rand(2, generator=g)).tolist()
        d = ((rows - r) ** 2 + (cols - c) ** 2).sqrt()
        face = (d < 5).float()
        mask[i] = ((d < 7) & (rows < r)).long()
        skin = torch.tensor([0.9, 0.7, 0.5]).view(3, 1, 1)
        hair = torch.tensor([0.3, 0.15, 0.1]).view(3, 1, 1)
        image[i] += face * skin * (1 - mask[i]) + mask[i] * (hair - 1.0)
    return image, mask


def build():
    torch.manual_seed(0)
    return HairMatting()


def example_inputs():
    return make_heads(4)
