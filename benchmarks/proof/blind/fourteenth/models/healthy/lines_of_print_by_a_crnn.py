r"""A reader of printed lines: convolutions, a recurrent layer and the connectionist loss.

Source: https://github.com/zhiqwang/sightseq/issues/10
Healthy: the model applies a log-softmax before the loss, which would be one too many for a cross
    entropy, as the asker wondered; the CTC loss does expect log-probabilities, with time in
    front, and the class 0 is kept for the blank.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class BidirectionalLSTM(nn.Module):

    def __init__(self, nIn, nHidden, nOut):
        super(BidirectionalLSTM, self).__init__()

        self.rnn = nn.LSTM(nIn, nHidden, bidirectional=True)
        self.embedding = nn.Linear(nHidden * 2, nOut)

    def forward(self, input):
        recurrent, _ = self.rnn(input)
        T, b, h = recurrent.size()
        t_rec = recurrent.view(T * b, h)

        output = self.embedding(t_rec)  # [T * b, nOut]
        output = output.view(T, b, -1)

        return output


class CRNN(nn.Module):

    def __init__(self, imgH=16, nc=1, nclass=9, nh=48, leakyRelu=False):
        super(CRNN, self).__init__()
        assert imgH % 16 == 0, 'imgH has to be a multiple of 16'

        ks = [3, 3, 3, 2]
        ps = [1, 1, 1, 0]
        nm = [16, 32, 48, 48]

        cnn = nn.Sequential()

        def convRelu(i, batchNormalization=False):
            nIn = nc if i == 0 else nm[i - 1]
            nOut = nm[i]
            cnn.add_module('conv{0}'.format(i), nn.Conv2d(nIn, nOut, ks[i], 1, ps[i]))
            if batchNormalization:
                cnn.add_module('batchnorm{0}'.format(i), nn.BatchNorm2d(nOut))
            if leakyRelu:
                cnn.add_module('relu{0}'.format(i), nn.LeakyReLU(0.2, inplace=True))
            else:
                cnn.add_module('relu{0}'.format(i), nn.ReLU(True))

        convRelu(0)
        cnn.add_module('pooling{0}'.format(0), nn.MaxPool2d(2, 2))  # 16x8x32
        convRelu(1)
        cnn.add_module('pooling{0}'.format(1), nn.MaxPool2d((2, 1), (2, 1)))  # 32x4x32
        convRelu(2, True)
        cnn.add_module('pooling{0}'.format(2), nn.MaxPool2d((2, 1), (2, 1)))  # 48x2x32
        convRelu(3, True)  # 48x1x31

        self.cnn = cnn
        self.rnn = nn.Sequential(
            BidirectionalLSTM(nm[-1], nh, nh),
            BidirectionalLSTM(nh, nh, nclass))
        self.criterion = nn.CTCLoss(blank=0, zero_infinity=True)

    def features(self, input):
        # conv features
        conv = self.cnn(input)
        b, c, h, w = conv.size()
        assert h == 1, "the height of conv must be 1"
        conv = conv.squeeze(2)
        conv = conv.permute(2, 0, 1)  # [w, b, c]

        # rnn features
        output = self.rnn(conv)
        return F.log_softmax(output, dim=2)

    def forward(self, images, targets, target_lengths):
        output = self.features(images)
        input_lengths = torch.full((images.size(0),), output.size(0), dtype=torch.long)
        return self.criterion(output, targets, input_lengths, target_lengths)


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find('Conv') != -1:
        m.weight.data.normal_(0.0, 0.1)
    elif classname.find('BatchNorm') != -1:
        m.weight.data.normal_(1.0, 0.02)
        m.bias.data.fill_(0)


def build():
    torch.manual_seed(0)
    model = CRNN()
    model.apply(weights_init)
    return model


def example_inputs():
    torch.manual_seed(1)
    glyphs = (torch.rand(9, 16, 10) > 0.5).float()
    lengths = torch.randint(3, 7, (12,))
    targets = torch.zeros(12, 6, dtype=torch.long)
    images = torch.zeros(12, 1, 16, 64)
    for i, n in enumerate(lengths.tolist()):
        targets[i, :n] = torch.randint(1, 9, (n,))
        for j in range(n):
            images[i, 0, :, 10 * j + 1:10 * j + 11] = glyphs[targets[i, j]]
    return images + 0.1 * torch.randn_like(images), targets, lengths
