r"""A small compressor of frames in rounds: convolutional LSTMs whose states start from zeros.

Source: https://github.com/chaoyuaw/pytorch-vcii/issues/1
Healthy: the hidden states of all cells are made anew for each batch; they are states and no
    parameters. The sign of the code is drawn at random in training and the gradient is handed
    through it; each round codes what the rounds before have left.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class SignFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, is_training=True):
        if is_training:
            prob = torch.rand_like(input)
            x = torch.zeros_like(input)
            x[(1 - input) / 2 <= prob] = 1
            x[(1 - input) / 2 > prob] = -1
            return x
        return torch.where(input >= 0, torch.ones_like(input), -torch.ones_like(input))

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


class ConvLSTMCell(nn.Module):
    def __init__(self, input_channels, hidden_channels, kernel_size=3, stride=1):
        super(ConvLSTMCell, self).__init__()
        self.hidden_channels = hidden_channels
        self.conv_ih = nn.Conv2d(input_channels, 4 * hidden_channels, kernel_size, stride,
                                 padding=1, bias=False)
        self.conv_hh = nn.Conv2d(hidden_channels, 4 * hidden_channels, 1, bias=False)

    def forward(self, input, hidden):
        hx, cx = hidden
        gates = self.conv_ih(input) + self.conv_hh(hx)
        ingate, forgetgate, cellgate, outgate = gates.chunk(4, 1)
        cy = torch.sigmoid(forgetgate) * cx + torch.sigmoid(ingate) * torch.tanh(cellgate)
        hy = torch.sigmoid(outgate) * torch.tanh(cy)
        return hy, cy


class EncoderCell(nn.Module):
    def __init__(self, v=12):
        super(EncoderCell, self).__init__()
        self.conv = nn.Conv2d(3, v, 3, stride=2, padding=1)
        self.rnn1 = ConvLSTMCell(v, 2 * v, stride=2)

    def forward(self, input, hidden1):
        x = torch.relu(self.conv(input))
        hidden1 = self.rnn1(x, hidden1)
        return hidden1[0], hidden1


class Binarizer(nn.Module):
    def __init__(self, in_channels, bits):
        super(Binarizer, self).__init__()
        self.conv = nn.Conv2d(in_channels, bits, kernel_size=1, bias=False)

    def forward(self, input):
        return SignFunction.apply(torch.tanh(self.conv(input)), self.training)


class DecoderCell(nn.Module):
    def __init__(self, bits, v=12):
        super(DecoderCell, self).__init__()
        self.conv1 = nn.Conv2d(bits, 2 * v, 1)
        self.rnn1 = ConvLSTMCell(2 * v, 4 * v)
        self.conv2 = nn.Conv2d(v + 2, 16, 3, padding=1)
        self.shuffle = nn.PixelShuffle(2)
        self.conv3 = nn.Conv2d(4, 1, 3, padding=1)

    def forward(self, codes, context, hidden1):
        x = self.conv1(codes)
        hidden1 = self.rnn1(x, hidden1)
        x = self.shuffle(hidden1[0])
        x = torch.relu(self.conv2(torch.cat([x, F.avg_pool2d(context, 2)], dim=1)))
        return self.conv3(self.shuffle(x)), hidden1


class InterpolationCoder(nn.Module):
    def __init__(self, iterations=3, bits=6, v=12):
        super(InterpolationCoder, self).__init__()
        self.iterations = iterations
        self.v = v
        self.encoder = EncoderCell(v)
        self.binarizer = Binarizer(2 * v, bits)
        self.decoder = DecoderCell(bits, v)

    def init_lstm(self, batch_size, height, width):
        def state(channels):
            return (torch.zeros(batch_size, channels, height // 4, width // 4),
                    torch.zeros(batch_size, channels, height // 4, width // 4))
        return state(2 * self.v), state(4 * self.v)

    def forward(self, frame1, frame, frame2):
        encoder_h_1, decoder_h_1 = self.init_lstm(frame.size(0), frame.size(2), frame.size(3))
        context = torch.cat([frame1, frame2], dim=1)
        res = frame - 0.5 * (frame1 + frame2)
        losses = []
        for _ in range(self.iterations):
            encoded, encoder_h_1 = self.encoder(torch.cat([res, context], dim=1), encoder_h_1)
            codes = self.binarizer(encoded)
            output, decoder_h_1 = self.decoder(codes, context, decoder_h_1)
            res = res - output
            losses.append(res.abs().mean())
        return sum(losses) / self.iterations


def make_clip(n=8, size=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    frames = torch.zeros(3, n, 1, size, size)
    for i in range(n):
        r, c = torch.randint(3, size - 7, (2,), generator=g).tolist()
        dr, dc = torch.randint(-2, 3, (2,), generator=g).tolist()
        for t in range(3):
            a, b = r + dr * (t - 1), c + dc * (t - 1)
            frames[t, i, 0, a:a + 5, b:b + 5] = 1.0
    return frames[0], frames[1], frames[2]


def build():
    torch.manual_seed(0)
    return InterpolationCoder()


def example_inputs():
    return make_clip(4)
