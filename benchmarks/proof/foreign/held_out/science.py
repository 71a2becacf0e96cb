"""Graphs, point sets, audio and physics as people publish them; none declares an input."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(in_features, out_features) * 0.1)
        self.bias = nn.Parameter(torch.zeros(out_features))

    def forward(self, input, adj):
        support = torch.mm(input, self.weight)
        output = torch.spmm(adj, support)
        return output + self.bias


class GCN(nn.Module):
    def __init__(self, nfeat=14, nhid=8, nclass=3, dropout=0.5):
        super().__init__()
        self.gc1 = GraphConvolution(nfeat, nhid)
        self.gc2 = GraphConvolution(nhid, nclass)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, self.dropout, training=self.training)
        x = self.gc2(x, adj)
        return F.log_softmax(x, dim=1)


class GAT(nn.Module):
    def __init__(self, nfeat=10, nhid=8, nclass=4, alpha=0.2, nheads=2):
        super().__init__()
        self.W = nn.ParameterList([nn.Parameter(torch.randn(nfeat, nhid)) for _ in range(nheads)])
        self.a = nn.ParameterList([nn.Parameter(torch.randn(2 * nhid, 1)) for _ in range(nheads)])
        self.leaky = nn.LeakyReLU(alpha)
        self.out = nn.Linear(nhid * nheads, nclass)

    def forward(self, h, adj):
        outs = []
        for W, a in zip(self.W, self.a):
            Wh = torch.mm(h, W)
            n = Wh.shape[1]
            e = self.leaky(Wh @ a[:n] + (Wh @ a[n:]).T)
            attention = torch.where(adj > 0, e, -9e15 * torch.ones_like(e))
            attention = F.softmax(attention, dim=1)
            outs.append(F.elu(torch.matmul(attention, Wh)))
        return F.log_softmax(self.out(torch.cat(outs, dim=1)), dim=1)


class GraphSAGE(nn.Module):
    def __init__(self, in_channels=9, hidden=12, out=3):
        super().__init__()
        self.lin_self = nn.Linear(in_channels, hidden)
        self.lin_neigh = nn.Linear(in_channels, hidden)
        self.out = nn.Linear(hidden, out)

    def forward(self, x, edge_index):
        src, dst = edge_index
        agg = torch.zeros_like(x).index_add_(0, dst, x[src])
        deg = torch.zeros(x.size(0)).index_add_(0, dst, torch.ones(dst.size(0))).clamp(min=1)
        h = F.relu(self.lin_self(x) + self.lin_neigh(agg / deg.unsqueeze(-1)))
        return self.out(h)


class GIN(nn.Module):
    def __init__(self, dim=7, hidden=16, classes=2):
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.mlp = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        self.cls = nn.Linear(hidden, classes)

    def forward(self, x, edge_index, batch):
        row, col = edge_index[0], edge_index[1]
        out = torch.zeros_like(x).scatter_add(0, col.unsqueeze(-1).expand(-1, x.size(1)), x[row])
        h = self.mlp((1 + self.eps) * x + out)
        num_graphs = int(batch.max()) + 1
        pooled = torch.zeros(num_graphs, h.size(1)).index_add(0, batch, h)
        return self.cls(pooled)


class MPNN(nn.Module):
    def __init__(self, node_dim=11, edge_dim=5, hidden=16):
        super().__init__()
        self.embed = nn.Linear(node_dim, hidden)
        self.message = nn.Sequential(nn.Linear(2 * hidden + edge_dim, hidden), nn.ReLU())
        self.update = nn.GRUCell(hidden, hidden)
        self.readout = nn.Linear(hidden, 1)

    def forward(self, node_feats, edge_feats, src, dst):
        h = self.embed(node_feats)
        for _ in range(2):
            m = self.message(torch.cat([h[src], h[dst], edge_feats], dim=-1))
            agg = torch.zeros_like(h).index_add(0, dst, m)
            h = self.update(agg, h)
        return self.readout(h.sum(0))


class STGCN(nn.Module):
    def __init__(self, num_nodes=13, channels=2, T=12, out_steps=3):
        super().__init__()
        self.temporal1 = nn.Conv2d(channels, 16, (1, 3))
        self.Theta = nn.Parameter(torch.randn(16, 8))
        self.temporal2 = nn.Conv2d(8, 16, (1, 3))
        self.fully = nn.Linear((T - 4) * 16, out_steps)
        self.batch_norm = nn.BatchNorm2d(num_nodes)

    def forward(self, A_hat, X):
        """
        :param A_hat: normalized adjacency matrix (num_nodes, num_nodes)
        :param X: (batch_size, num_nodes, num_timesteps, num_features)
        """
        t = F.relu(self.temporal1(X.permute(0, 3, 1, 2))).permute(0, 2, 3, 1)
        lfs = torch.einsum("ij,jklm->kilm", [A_hat, t.permute(1, 0, 2, 3)])
        t2 = F.relu(torch.matmul(lfs, self.Theta))
        t3 = F.relu(self.temporal2(t2.permute(0, 3, 1, 2))).permute(0, 2, 3, 1)
        out = self.batch_norm(t3)
        return self.fully(out.reshape((out.shape[0], out.shape[1], -1)))


class TNet(nn.Module):
    def __init__(self, k=3):
        super().__init__()
        self.k = k
        self.conv1 = nn.Conv1d(k, 16, 1)
        self.conv2 = nn.Conv1d(16, 32, 1)
        self.fc = nn.Linear(32, k * k)
        self.bn = nn.BatchNorm1d(16)

    def forward(self, x):
        batchsize = x.size()[0]
        x = F.relu(self.bn(self.conv1(x)))
        x = F.relu(self.conv2(x))
        x = torch.max(x, 2, keepdim=True)[0].view(-1, 32)
        iden = torch.eye(self.k).view(1, self.k * self.k).repeat(batchsize, 1)
        return (self.fc(x) + iden).view(-1, self.k, self.k)


class PointNet(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.stn = TNet(3)
        self.conv = nn.Conv1d(3, 32, 1)
        self.fc = nn.Linear(32, classes)

    def forward(self, x):
        trans = self.stn(x)
        x = torch.bmm(x.transpose(2, 1), trans).transpose(2, 1)
        x = F.relu(self.conv(x))
        return self.fc(x.max(-1)[0]), trans


class DeepSets(nn.Module):
    def __init__(self):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(3, 16), nn.ELU(), nn.Linear(16, 16))
        self.rho = nn.Sequential(nn.Linear(16, 16), nn.ELU(), nn.Linear(16, 1))

    def forward(self, pcd: Tensor) -> Tensor:
        return self.rho(self.phi(pcd).sum(dim=-2))


class DGCNN(nn.Module):
    def __init__(self, k=20):
        super().__init__()
        self.k = k
        self.conv = nn.Conv2d(6, 16, 1, bias=False)
        self.lin = nn.Linear(16, 4)

    def forward(self, x):
        B, C, N = x.shape
        inner = -2 * torch.matmul(x.transpose(2, 1), x)
        xx = (x**2).sum(1, keepdim=True)
        idx = (-xx - inner - xx.transpose(2, 1)).topk(k=self.k, dim=-1)[1]
        idx = (idx + torch.arange(B).view(-1, 1, 1) * N).view(-1)
        feat = x.transpose(2, 1).reshape(B * N, -1)[idx].view(B, N, self.k, C)
        xr = x.transpose(2, 1).unsqueeze(2).expand(-1, -1, self.k, -1)
        e = torch.cat((feat - xr, xr), 3).permute(0, 3, 1, 2)
        return self.lin(self.conv(e).max(-1)[0].max(-1)[0])


class NeRF(nn.Module):
    def __init__(self, D=4, W=32, input_ch=63, input_ch_views=27, skips=(2,)):
        super().__init__()
        self.input_ch, self.input_ch_views, self.skips = input_ch, input_ch_views, skips
        self.pts_linears = nn.ModuleList(
            [nn.Linear(input_ch, W)]
            + [nn.Linear(W + input_ch if i in skips else W, W) for i in range(D - 1)]
        )
        self.views_linears = nn.ModuleList([nn.Linear(input_ch_views + W, W // 2)])
        self.feature_linear = nn.Linear(W, W)
        self.alpha_linear = nn.Linear(W, 1)
        self.rgb_linear = nn.Linear(W // 2, 3)

    def forward(self, x):
        input_pts, input_views = torch.split(x, [self.input_ch, self.input_ch_views], dim=-1)
        h = input_pts
        for i, layer in enumerate(self.pts_linears):
            h = F.relu(layer(h))
            if i in self.skips:
                h = torch.cat([input_pts, h], -1)
        alpha = self.alpha_linear(h)
        h = torch.cat([self.feature_linear(h), input_views], -1)
        for layer in self.views_linears:
            h = F.relu(layer(h))
        return torch.cat([self.rgb_linear(h), alpha], -1)


class NeuralField(nn.Module):
    def __init__(self, freqs=4):
        super().__init__()
        self.register_buffer("freqs", 2.0 ** torch.arange(freqs))
        self.net = nn.Sequential(nn.Linear(3 * 2 * freqs, 32), nn.ReLU())
        self.color = nn.Sequential(nn.Linear(32 + 3 * 2 * freqs, 16), nn.ReLU(), nn.Linear(16, 3))

    def encode(self, v):
        v = v.unsqueeze(-1) * self.freqs
        return torch.cat([v.sin(), v.cos()], -1).flatten(-2)

    def forward(self, points, directions):
        h = self.net(self.encode(points))
        return self.color(torch.cat([h, self.encode(directions)], -1))


class NeuralODE(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(dim + 1, 16), nn.Tanh(), nn.Linear(16, dim))

    def forward(self, z0, t):
        zs, z = [z0], z0
        for i in range(len(t) - 1):
            dt = t[i + 1] - t[i]
            tt = t[i].expand(z.shape[0], 1)
            z = z + dt * self.f(torch.cat([z, tt], 1))
            zs.append(z)
        return torch.stack(zs)


class PINN(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh())
        self.out = nn.Linear(16, 1)

    def forward(self, x, t):
        return self.out(self.hidden(torch.cat([x, t], dim=1)))


class HamiltonianNet(nn.Module):
    def __init__(self, dim=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * dim, 16), nn.Softplus(), nn.Linear(16, 1))

    def forward(self, q, p):
        return self.net(torch.cat((q, p), dim=-1)).sum(-1)


class FNO2d(nn.Module):
    def __init__(self, modes=12, width=8):
        super().__init__()
        self.modes = modes
        self.fc0 = nn.Linear(3, width)
        self.weights = nn.Parameter(
            torch.randn(width, width, modes, modes, dtype=torch.cfloat) * 0.1
        )
        self.w = nn.Conv2d(width, width, 1)
        self.fc1 = nn.Linear(width, 1)

    def forward(self, x):
        # (batch, x, y, c)
        x = self.fc0(x).permute(0, 3, 1, 2)
        x_ft = torch.fft.rfft2(x)
        out_ft = torch.zeros(
            x.size(0), x.size(1), x.size(-2), x.size(-1) // 2 + 1, dtype=torch.cfloat
        )
        m = self.modes
        out_ft[:, :, :m, :m] = torch.einsum("bixy,ioxy->boxy", x_ft[:, :, :m, :m], self.weights)
        x = F.gelu(torch.fft.irfft2(out_ft, s=(x.size(-2), x.size(-1))) + self.w(x))
        return self.fc1(x.permute(0, 2, 3, 1))


class STFTDenoiser(nn.Module):
    def __init__(self, n_fft=256, hop=64):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))
        self.mask = nn.GRU(n_fft // 2 + 1, n_fft // 2 + 1, batch_first=True)

    def forward(self, wav):
        spec = torch.stft(wav, self.n_fft, self.hop, window=self.window, return_complex=True)
        m, _ = self.mask(spec.abs().transpose(1, 2))
        spec = spec * torch.sigmoid(m).transpose(1, 2)
        return torch.istft(spec, self.n_fft, self.hop, window=self.window, length=wav.shape[-1])


class KeywordSpotter(nn.Module):
    """log-mel of one second: 40 bands, 98 frames"""

    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 8, (20, 8)), nn.ReLU(), nn.MaxPool2d((1, 3)))
        self.fc = nn.Linear(8 * 79 * 11, 12)

    def forward(self, spectrogram):
        x = spectrogram.unsqueeze(1)
        x = self.conv(x)
        return self.fc(x.view(x.shape[0], -1))


class DeepSpeech(nn.Module):
    def __init__(self, n_mels=80, hidden=16, n_class=29):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, (41, 11), stride=(2, 2), padding=(20, 5))
        self.rnn = nn.GRU(4 * 40, hidden, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(2 * hidden, n_class)

    def forward(self, mel):
        x = F.hardtanh(self.conv(mel), 0, 20)
        sizes = x.size()
        x = x.view(sizes[0], sizes[1] * sizes[2], sizes[3]).transpose(1, 2)
        return self.fc(self.rnn(x)[0])


class M5(nn.Module):
    """raw audio, 8 kHz"""

    def __init__(self, n_input=1, n_output=35, stride=16, n_channel=8):
        super().__init__()
        self.conv1 = nn.Conv1d(n_input, n_channel, kernel_size=80, stride=stride)
        self.bn1 = nn.BatchNorm1d(n_channel)
        self.pool1 = nn.MaxPool1d(4)
        self.conv2 = nn.Conv1d(n_channel, n_channel, kernel_size=3)
        self.pool2 = nn.MaxPool1d(4)
        self.conv3 = nn.Conv1d(n_channel, 2 * n_channel, kernel_size=3)
        self.pool3 = nn.MaxPool1d(4)
        self.conv4 = nn.Conv1d(2 * n_channel, 2 * n_channel, kernel_size=3)
        self.pool4 = nn.MaxPool1d(4)
        self.fc1 = nn.Linear(2 * n_channel, n_output)

    def forward(self, x):
        x = self.pool1(F.relu(self.bn1(self.conv1(x))))
        x = self.pool2(F.relu(self.conv2(x)))
        x = self.pool3(F.relu(self.conv3(x)))
        x = self.pool4(F.relu(self.conv4(x)))
        x = F.avg_pool1d(x, x.shape[-1])
        x = x.permute(0, 2, 1)
        return F.log_softmax(self.fc1(x), dim=2)


class TreeLSTMCell(nn.Module):
    def __init__(self, x_size=6, h_size=8):
        super().__init__()
        self.W_iou = nn.Linear(x_size, 3 * h_size, bias=False)
        self.U_iou = nn.Linear(2 * h_size, 3 * h_size, bias=False)
        self.U_f = nn.Linear(2 * h_size, 2 * h_size)

    def forward(self, x, h_children, c_children):
        # h_children, c_children: (N, 2, h_size)
        h_cat = h_children.view(h_children.size(0), -1)
        f = torch.sigmoid(self.U_f(h_cat)).view(*h_children.size())
        c = torch.sum(f * c_children, 1)
        iou = self.W_iou(x) + self.U_iou(h_cat)
        i, o, u = torch.chunk(iou, 3, 1)
        c = torch.sigmoid(i) * torch.tanh(u) + c
        return torch.sigmoid(o) * torch.tanh(c), c


class SchNet(nn.Module):
    def __init__(self, hidden=16, n_atom=20, n_rbf=8, cutoff=5.0):
        super().__init__()
        self.embedding = nn.Embedding(n_atom, hidden)
        self.register_buffer("centers", torch.linspace(0, cutoff, n_rbf))
        self.filter = nn.Linear(n_rbf, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, z, pos):
        dist = (pos.unsqueeze(1) - pos.unsqueeze(0)).pow(2).sum(-1).add(1e-8).sqrt()
        rbf = torch.exp(-((dist.unsqueeze(-1) - self.centers) ** 2))
        h = self.embedding(z)
        m = (self.filter(rbf) * h.unsqueeze(0)).sum(1)
        return self.out(h + m).sum(0)


MODELS = (
    "GCN",
    "GAT",
    "GraphSAGE",
    "GIN",
    "MPNN",
    "STGCN",
    "PointNet",
    "DeepSets",
    "DGCNN",
    "NeRF",
    "NeuralField",
    "NeuralODE",
    "PINN",
    "HamiltonianNet",
    "FNO2d",
    "STFTDenoiser",
    "KeywordSpotter",
    "DeepSpeech",
    "M5",
    "TreeLSTMCell",
    "SchNet",
)
