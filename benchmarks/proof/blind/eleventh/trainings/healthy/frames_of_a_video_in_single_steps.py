r"""An LSTM that is stepped one frame at a time with batch_first and hands its state on by hand.

Source: https://github.com/pytorch/pytorch/issues/34036
Healthy: with batch_first=True the states keep the shape (layers, batch, hidden), so batch and time
    seem to be swapped when the sequence has one step; that is documented, the code uses it rightly.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def clips(n, frames=6, size=7):
    """a dot moves in one of four ways; the first frame alone says nothing"""
    y = torch.randint(0, 4, (n,))
    step = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])
    x = torch.zeros(n, frames, size, size)
    for i in range(n):
        p = torch.randint(2, size - 2, (2,))
        for t in range(frames):
            x[i, t, p[0], p[1]] = 1
            p = (p + step[y[i]]).clamp(0, size - 1)
    return x + 0.05 * torch.randn_like(x), y


class FrameEncoder(nn.Module):
    def __init__(self, out_dim):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(49, 48), nn.ReLU(),
                                 nn.Linear(48, out_dim))

    def forward(self, x):
        return self.net(x)


class StepwiseClassifier(nn.Module):
    def __init__(self, feat=32, hidden=64, classes=4, layers=2):
        super().__init__()
        self.layers, self.hidden = layers, hidden
        self.encoder = FrameEncoder(feat)
        self.lstm = nn.LSTM(feat, hidden, layers, batch_first=True)
        self.readout = nn.Linear(hidden, classes)

    def init_state(self, batch):
        shape = (self.layers, batch, self.hidden)
        return torch.zeros(shape), torch.zeros(shape)

    def forward(self, video):
        B, T = video.shape[:2]
        h_c = self.init_state(B)
        scores = []
        for t in range(T):
            x = self.encoder(video[:, t]).unsqueeze(1)
            out, h_c = self.lstm(x, h_c)
            scores.append(self.readout(h_c[0][-1]))
        return torch.stack(scores, dim=1)


def evaluate(model, loader):
    model.eval()
    right = None
    n = 0
    with torch.no_grad():
        for x, y in loader:
            ok = (model(x).argmax(-1) == y.unsqueeze(1)).sum(0)
            right = ok if right is None else right + ok
            n += len(y)
    return (right.float() / n).tolist()


def main():
    train_loader = DataLoader(TensorDataset(*clips(1200)), batch_size=48, shuffle=True)
    test_loader = DataLoader(TensorDataset(*clips(300)), batch_size=100)
    model = StepwiseClassifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)
    for epoch in range(9):
        model.train()
        total = 0.0
        for x, y in train_loader:
            scores = model(x)
            # the first frames cannot be known, they do not count
            late = scores[:, 2:]
            target = y.unsqueeze(1).expand(-1, late.size(1))
            loss = F.cross_entropy(late.reshape(-1, 4), target.reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
        if epoch % 3 == 2:
            print('epoch %d loss %.4f' % (epoch + 1, total / len(train_loader)))
    acc = evaluate(model, test_loader)
    print('accuracy after each frame', [round(a, 3) for a in acc])


if __name__ == '__main__':
    main()
