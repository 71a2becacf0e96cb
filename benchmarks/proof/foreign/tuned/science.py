"""Graphs, point sets, audio and physics as people publish them; none declares an input."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class DenseGCN(nn.Module):
    """adj: (B, N, N), x: (B, N, F)"""

    def __init__(self):
        super().__init__()
        self.lin1 = nn.Linear(5, 8)
        self.lin2 = nn.Linear(8, 3)

    def forward(self, x, adj):
        x = F.relu(torch.bmm(adj, self.lin1(x)))
        x = torch.bmm(adj, self.lin2(x))
        return x.mean(dim=1)


class AdjFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Linear(12, 6)

    def forward(self, adj, features):
        deg = adj.sum(1).clamp(min=1).pow(-0.5)
        norm = deg[:, None] * adj * deg[None]
        return norm @ self.w(features)


class GATEdge(nn.Module):
    def __init__(self, fin=7, heads=2, out=4):
        super().__init__()
        self.lin = nn.Linear(fin, heads * out, bias=False)
        self.att_src = nn.Parameter(torch.randn(1, heads, out))
        self.att_dst = nn.Parameter(torch.randn(1, heads, out))
        self.heads, self.out = heads, out

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor):
        N = x.size(0)
        h = self.lin(x).view(N, self.heads, self.out)
        src, dst = edge_index
        a = F.leaky_relu((h * self.att_src).sum(-1)[src] + (h * self.att_dst).sum(-1)[dst])
        a = a.exp()
        norm = torch.zeros(N, self.heads).index_add(0, dst, a)[dst]
        out = torch.zeros(N, self.heads, self.out).index_add(
            0, dst, h[src] * (a / norm).unsqueeze(-1)
        )
        return out.flatten(1)


class EGNN(nn.Module):
    def __init__(self, nf=6, hid=8):
        super().__init__()
        self.edge = nn.Sequential(nn.Linear(2 * nf + 1, hid), nn.SiLU())
        self.coord = nn.Linear(hid, 1)
        self.node = nn.Linear(nf + hid, nf)

    def forward(self, h, x, edges):
        row, col = edges
        diff = x[row] - x[col]
        m = self.edge(torch.cat([h[row], h[col], (diff**2).sum(1, keepdim=True)], 1))
        x = x + torch.zeros_like(x).index_add(0, row, diff * self.coord(m))
        agg = torch.zeros(h.size(0), m.size(1)).index_add(0, row, m)
        return self.node(torch.cat([h, agg], 1)), x


class EdgeWeighted(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 8)
        self.cls = nn.Linear(8, 2)

    def forward(self, x, edge_index, edge_weight=None, batch=None):
        row, col = edge_index
        msg = self.lin(x)[row]
        if edge_weight is not None:
            msg = msg * edge_weight.view(-1, 1)
        return self.cls(torch.zeros(x.size(0), 8).index_add(0, col, msg).relu())


class EdgeAttr(nn.Module):
    def __init__(self):
        super().__init__()
        self.node_encoder = nn.Embedding(30, 8)
        self.edge_encoder = nn.Linear(3, 8)
        self.graph_pred = nn.Linear(8, 1)

    def forward(self, x, edge_index, edge_attr, batch):
        h = self.node_encoder(x)
        e = self.edge_encoder(edge_attr)
        m = torch.zeros_like(h).index_add(0, edge_index[1], F.relu(h[edge_index[0]] + e))
        return self.graph_pred(torch.zeros(2, 8).index_add(0, batch, h + m))


class LinkPredictor(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(50, 16)
        self.rel = nn.Embedding(7, 16)

    def forward(self, triples):
        h, r, t = self.emb(triples[:, 0]), self.rel(triples[:, 1]), self.emb(triples[:, 2])
        return -(h + r - t).norm(p=1, dim=-1)


class PointNetNHWC(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp1 = nn.Linear(3, 16)
        self.mlp2 = nn.Linear(16, 32)
        self.head = nn.Linear(32, 4)

    def forward(self, xyz):
        # xyz: B x N x 3
        B, N, C = xyz.shape
        d = torch.cdist(xyz, xyz)
        _, idx = d.topk(24, largest=False)
        near = torch.gather(xyz, 1, idx.reshape(B, -1, 1).expand(-1, -1, C)).view(B, N, 24, C)
        x = self.mlp2(F.relu(self.mlp1(near - xyz.unsqueeze(2)))).max(2)[0]
        return self.head(x.max(1)[0])


class PointNetFeat(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(3, 16, 1), nn.Conv1d(16, 64, 1)
        self.fc1 = nn.Linear(64, 5)

    def forward(self, pts, feat):
        x = F.relu(self.conv1(pts))
        x = self.conv2(x).max(2)[0]
        return self.fc1(x) + feat


class PointMaxPool(nn.Module):
    """old style: the number of points is fixed"""

    def __init__(self, num_points=500):
        super().__init__()
        self.conv1 = nn.Conv1d(3, 16, 1)
        self.conv2 = nn.Conv1d(16, 32, 1)
        self.mp = nn.MaxPool1d(num_points)
        self.fc = nn.Linear(32, 9)

    def forward(self, x):
        x = self.mp(F.relu(self.conv2(F.relu(self.conv1(x)))))
        x = x.view(-1, 32)
        return self.fc(x).view(-1, 3, 3)


class TinyNeRF(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Linear(39, 32)
        self.layer2 = nn.Linear(32 + 24, 16)
        self.rgb = nn.Linear(16, 4)

    def forward(self, pos_enc, dir_enc):
        return self.rgb(F.relu(self.layer2(torch.cat([F.relu(self.layer1(pos_enc)), dir_enc], -1))))


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 2))

    def forward(self, t, y):
        return self.net(y**3)


class DeepONet(nn.Module):
    def __init__(self):
        super().__init__()
        self.branch = nn.Sequential(nn.Linear(100, 20), nn.ReLU(), nn.Linear(20, 10))
        self.trunk = nn.Sequential(nn.Linear(2, 20), nn.ReLU(), nn.Linear(20, 10))
        self.b = nn.Parameter(torch.zeros(1))

    def forward(self, u, y):
        return (self.branch(u) * self.trunk(y)).sum(-1, keepdim=True) + self.b


class FNO1d(nn.Module):
    def __init__(self, modes=16, width=8):
        super().__init__()
        self.modes = modes
        self.fc0 = nn.Linear(2, width)
        self.w = nn.Parameter(torch.randn(width, width, modes, dtype=torch.cfloat))
        self.fc1 = nn.Linear(width, 1)

    def forward(self, x):
        grid = torch.linspace(0, 1, x.shape[1]).reshape(1, -1, 1).repeat(x.shape[0], 1, 1)
        x = torch.cat((x, grid), dim=-1)
        x = self.fc0(x).permute(0, 2, 1)
        ft = torch.fft.rfft(x)
        out = torch.zeros_like(ft)
        out[:, :, : self.modes] = torch.einsum("bix,iox->box", ft[:, :, : self.modes], self.w)
        return self.fc1(torch.fft.irfft(out, n=x.size(-1)).permute(0, 2, 1))


class SpeakerNet(nn.Module):
    """x-vectors over 24 MFCC"""

    def __init__(self):
        super().__init__()
        self.frame = nn.Sequential(
            nn.Conv1d(24, 16, 5),
            nn.ReLU(),
            nn.Conv1d(16, 16, 3, dilation=2),
            nn.ReLU(),
            nn.Conv1d(16, 16, 3, dilation=3),
            nn.ReLU(),
        )
        self.fc = nn.Linear(32, 10)

    def forward(self, mfcc):
        h = self.frame(mfcc)
        return self.fc(torch.cat([h.mean(2), h.std(2)], 1))


class WhisperLike(nn.Module):
    def __init__(self, n_mels=80, n_ctx=150, d=16):
        super().__init__()
        self.conv1 = nn.Conv1d(n_mels, d, 3, padding=1)
        self.conv2 = nn.Conv1d(d, d, 3, stride=2, padding=1)
        self.register_buffer("positional_embedding", torch.zeros(n_ctx, d))
        self.block = nn.TransformerEncoderLayer(d, 2, 32, batch_first=True)

    def forward(self, x):
        """
        x : torch.Tensor, shape = (batch_size, n_mels, n_ctx)
            the mel spectrogram of the audio
        """
        x = F.gelu(self.conv2(F.gelu(self.conv1(x)))).permute(0, 2, 1)
        assert x.shape[1:] == self.positional_embedding.shape, "incorrect audio shape"
        return self.block((x + self.positional_embedding).to(x.dtype))


class SoundCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1)
        self.fc = nn.Linear(8 * 16 * 43, 10)

    def forward(self, mel_spec):
        x = F.max_pool2d(F.relu(self.conv1(mel_spec)), (2, 2))
        x = F.max_pool2d(F.relu(self.conv2(x)), (2, 2))
        x = x.view(-1, 8 * 16 * 43)
        return self.fc(x)


class ConvTasNet(nn.Module):
    def __init__(self, N=16, L=40):
        super().__init__()
        self.encoder = nn.Conv1d(1, N, L, stride=L // 2, bias=False)
        self.sep = nn.Conv1d(N, 2 * N, 1)
        self.decoder = nn.ConvTranspose1d(N, 1, L, stride=L // 2, bias=False)
        self.N = N

    def forward(self, mixture):
        """mixture: [M, T]"""
        w = F.relu(self.encoder(mixture.unsqueeze(1)))
        m = self.sep(w).view(w.size(0), 2, self.N, -1).sigmoid()
        s = (w.unsqueeze(1) * m).view(-1, self.N, w.size(-1))
        return self.decoder(s).view(w.size(0), 2, -1)


class SincRaw(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 8, 251)
        self.pool = nn.MaxPool1d(3)
        self.conv2 = nn.Conv1d(8, 8, 5)
        self.conv3 = nn.Conv1d(8, 8, 5)
        self.fc = nn.Linear(8 * 107, 6)

    def forward(self, x):
        batch, seq_len = x.shape[0], x.shape[-1]
        x = x.view(batch, 1, seq_len)
        for c in (self.conv, self.conv2, self.conv3):
            x = F.leaky_relu(self.pool(c(x)))
        return self.fc(x.view(batch, -1))


class Molecule(nn.Module):
    def __init__(self):
        super().__init__()
        self.atoms = nn.Embedding(100, 16, padding_idx=0)
        self.dense = nn.Linear(16, 16)
        self.out = nn.Linear(16, 1)

    def forward(self, Z, R):
        r = torch.cdist(R, R)
        h = self.atoms(Z)
        h = h + torch.exp(-r) @ self.dense(h)
        return self.out(h).sum(dim=1)


MODELS = (
    "DenseGCN",
    "AdjFirst",
    "GATEdge",
    "EGNN",
    "EdgeWeighted",
    "EdgeAttr",
    "LinkPredictor",
    "PointNetNHWC",
    "PointNetFeat",
    "PointMaxPool",
    "TinyNeRF",
    "ODEFunc",
    "DeepONet",
    "FNO1d",
    "SpeakerNet",
    "WhisperLike",
    "SoundCNN",
    "ConvTasNet",
    "SincRaw",
    "Molecule",
)
