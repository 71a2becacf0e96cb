r"""Completion network that fills a hole in small images, with a predict step at the end.

Source: https://github.com/otenim/GLCIC-PyTorch/issues/18
Fault: the model is never switched to eval mode, so the batch norms normalise the single image of
    predict() with its own statistics: brightness and contrast of the result are wrong.
Cause: (eval(uation)? mode|\.eval\(|eval\(\))
    |(train(ing)? mode).{0,120}(predict|test|infer|single|sample|evaluat)
    |(predict|test|infer|evaluat).{0,120}(train(ing)? mode|batch statistic|batch ?norm|own statistic
    |own mean)
    |(batch ?norm|\bbn\b).{0,120}(batch statistic|single|own|predict|infer|test)
Place: eval|predict|model_cn|model|CompletionNetwork|bn
"""
import argparse

import torch
import torch.nn as nn
from torch.optim import Adadelta
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument('--steps_1', type=int, default=320)
parser.add_argument('--snaperiod_1', type=int, default=80)
parser.add_argument('--hole_min', type=int, default=6)
parser.add_argument('--hole_max', type=int, default=10)
parser.add_argument('--cn_input_size', type=int, default=24)
parser.add_argument('--bsize', type=int, default=16)
parser.add_argument('--num_test', type=int, default=30)


class ImageDataset(Dataset):
    def __init__(self, num, size, seed):
        g = torch.Generator().manual_seed(seed)
        t = torch.linspace(0, 1, size)
        self.imgs = []
        for _ in range(num):
            level = 0.15 + 0.7 * torch.rand(3, 1, 1, generator=g)
            slope = 0.4 * (torch.rand(2, generator=g) - 0.5)
            waves = 0.08 * torch.sin(6.28 * (2 + torch.rand(1, generator=g)) * t)
            ramp = slope[0] * t[:, None] + slope[1] * t[None, :] + waves[None, :]
            self.imgs.append((level + ramp[None]).clamp(0, 1))

    def __len__(self):
        return len(self.imgs)

    def __getitem__(self, index):
        return self.imgs[index]


class CompletionNetwork(nn.Module):
    def __init__(self):
        super(CompletionNetwork, self).__init__()
        self.conv1 = nn.Conv2d(4, 16, kernel_size=5, stride=1, padding=2)
        self.bn1 = nn.BatchNorm2d(16)
        self.act1 = nn.ReLU()
        self.conv2 = nn.Conv2d(16, 32, kernel_size=3, stride=2, padding=1)
        self.bn2 = nn.BatchNorm2d(32)
        self.act2 = nn.ReLU()
        self.conv3 = nn.Conv2d(32, 32, kernel_size=3, stride=1, dilation=2, padding=2)
        self.bn3 = nn.BatchNorm2d(32)
        self.act3 = nn.ReLU()
        self.conv4 = nn.Conv2d(32, 32, kernel_size=3, stride=1, dilation=4, padding=4)
        self.bn4 = nn.BatchNorm2d(32)
        self.act4 = nn.ReLU()
        self.deconv5 = nn.ConvTranspose2d(32, 16, kernel_size=4, stride=2, padding=1)
        self.bn5 = nn.BatchNorm2d(16)
        self.act5 = nn.ReLU()
        self.conv6 = nn.Conv2d(16, 3, kernel_size=3, stride=1, padding=1)
        self.act6 = nn.Sigmoid()

    def forward(self, x):
        x = self.bn1(self.act1(self.conv1(x)))
        x = self.bn2(self.act2(self.conv2(x)))
        x = self.bn3(self.act3(self.conv3(x)))
        x = self.bn4(self.act4(self.conv4(x)))
        x = self.bn5(self.act5(self.deconv5(x)))
        return self.act6(self.conv6(x))


def gen_input_mask(shape, hole_size, g=None):
    mask = torch.zeros(shape)
    bsize, _, mask_h, mask_w = mask.shape
    for i in range(bsize):
        hole_w = torch.randint(hole_size[0], hole_size[1] + 1, (1,), generator=g).item()
        hole_h = torch.randint(hole_size[0], hole_size[1] + 1, (1,), generator=g).item()
        x = torch.randint(0, mask_w - hole_w, (1,), generator=g).item()
        y = torch.randint(0, mask_h - hole_h, (1,), generator=g).item()
        mask[i, :, y:y + hole_h, x:x + hole_w] = 1.0
    return mask


def completion_network_loss(input, output, mask):
    return nn.functional.mse_loss(output * mask, input * mask)


def predict(model, x, mask, mpv):
    with torch.no_grad():  # here
        x_mask = x - x * mask + mpv * mask
        output = model(torch.cat((x_mask, mask), dim=1))
    return x * (1 - mask) + output * mask


def main(args):
    torch.manual_seed(0)
    size = args.cn_input_size
    train_dset = ImageDataset(400, size, 1)
    test_dset = ImageDataset(args.num_test, size, 2)
    train_loader = DataLoader(train_dset, batch_size=args.bsize, shuffle=True, drop_last=True)
    mpv = torch.stack(train_dset.imgs).mean(dim=(0, 2, 3)).view(1, 3, 1, 1)
    print('mean pixel value', [round(v, 3) for v in mpv.flatten().tolist()])

    model_cn = CompletionNetwork()
    opt_cn = Adadelta(model_cn.parameters())

    pbar = 0
    running = 0.0
    while pbar < args.steps_1:
        for x in train_loader:
            mask = gen_input_mask((x.shape[0], 1, size, size), (args.hole_min, args.hole_max))
            x_mask = x - x * mask + mpv * mask
            input = torch.cat((x_mask, mask), dim=1)
            output = model_cn(input)
            loss = completion_network_loss(x, output, mask)
            loss.backward()
            opt_cn.step()
            opt_cn.zero_grad()
            running += loss.item()
            pbar += 1
            if pbar % args.snaperiod_1 == 0:
                print('phase 1 | step {} | train loss: {:.6f}'.format(
                    pbar, running / args.snaperiod_1))
                running = 0.0
            if pbar >= args.steps_1:
                break

    g = torch.Generator().manual_seed(7)
    errors, shifts = [], []
    for i in range(args.num_test):
        x = test_dset[i].unsqueeze(0)
        mask = gen_input_mask((1, 1, size, size), (args.hole_min, args.hole_max), g)
        out = predict(model_cn, x, mask, mpv)
        hole = mask.expand_as(x) > 0
        errors.append((out - x)[hole].abs().mean().item())
        shifts.append(((out - x) * mask).sum(dim=(2, 3)).abs().mean().item() / mask.sum().item())
    print('predict: mean error in the hole {:.4f}, shift of the brightness {:.4f}'.format(
        sum(errors) / len(errors), sum(shifts) / len(shifts)))


if __name__ == '__main__':
    main(parser.parse_args())
