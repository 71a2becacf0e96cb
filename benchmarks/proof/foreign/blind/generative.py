"""Generative and other models as people publish them, each with an ordinary batch."""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class VectorQuantizer(nn.Module):
    def __init__(self, codes=16, dim=8, beta=0.25):
        super().__init__()
        self.embedding = nn.Embedding(codes, dim)
        self.embedding.weight.data.uniform_(-1 / codes, 1 / codes)
        self.beta = beta

    def forward(self, z):
        z = z.permute(0, 2, 3, 1).contiguous()
        flat = z.view(-1, z.shape[-1])
        d = (
            flat.pow(2).sum(1, keepdim=True)
            + self.embedding.weight.pow(2).sum(1)
            - 2 * flat @ self.embedding.weight.t()
        )
        index = torch.argmin(d, dim=1)
        z_q = self.embedding(index).view(z.shape)
        loss = F.mse_loss(z_q, z.detach()) + self.beta * F.mse_loss(z_q.detach(), z)
        z_q = z + (z_q - z).detach()
        return z_q.permute(0, 3, 1, 2).contiguous(), loss


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, 8, 3, 1, 1)
        )
        self.quantizer = VectorQuantizer()
        self.decoder = nn.Sequential(
            nn.Conv2d(8, 16, 3, 1, 1), nn.ReLU(), nn.ConvTranspose2d(16, 1, 4, 2, 1)
        )

    def forward(self, x):
        z_q, vq_loss = self.quantizer(self.encoder(x))
        return self.decoder(z_q), vq_loss


class Coupling(nn.Module):
    def __init__(self, dim, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(dim // 2, 16), nn.Tanh(), nn.Linear(16, dim))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, dim=1)
        s = torch.tanh(s)
        b = b * s.exp() + t
        return torch.cat((b, a) if self.flip else (a, b), 1), s.sum(1)


class RealNVP(nn.Module):
    def __init__(self, dim=6, depth=4):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(dim, i % 2 == 1) for i in range(depth))
        self.register_buffer("loc", torch.zeros(dim))
        self.register_buffer("scale", torch.ones(dim))

    def forward(self, x):
        log_det = x.new_zeros(x.shape[0])
        for layer in self.layers:
            x, ld = layer(x)
            log_det = log_det + ld
        return torch.distributions.Normal(self.loc, self.scale).log_prob(x).sum(1) + log_det


class ODEFunc(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + 1, 16), nn.Tanh(), nn.Linear(16, dim))

    def forward(self, t, x):
        tt = torch.full_like(x[:, :1], t)
        return self.net(torch.cat([x, tt], 1))


class FixedStepODE(nn.Module):
    def __init__(self, dim=4, steps=4):
        super().__init__()
        self.f = ODEFunc(dim)
        self.steps = steps
        self.head = nn.Linear(dim, 2)

    def forward(self, x):
        h = 1 / self.steps
        for i in range(self.steps):
            t = i * h
            k1 = self.f(t, x)
            k2 = self.f(t + h / 2, x + h / 2 * k1)
            k3 = self.f(t + h / 2, x + h / 2 * k2)
            k4 = self.f(t + h, x + h * k3)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return self.head(x)


class SiameseDistance(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 8, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3), nn.ReLU()
        )
        self.fc = nn.Linear(8 * 10 * 10, 16)

    def once(self, x):
        return self.fc(self.cnn(x).flatten(1))

    def forward(self, a, b):
        return F.pairwise_distance(self.once(a), self.once(b))


class TripletNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Sequential(nn.Linear(10, 32), nn.PReLU(), nn.Linear(32, 8))

    def forward(self, anchor, positive, negative):
        a, p, n = (F.normalize(self.embedding(x)) for x in (anchor, positive, negative))
        return F.triplet_margin_loss(a, p, n, margin=1.0)


class GCNConv(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.lin = nn.Linear(c_in, c_out, bias=False)
        self.bias = nn.Parameter(torch.zeros(c_out))

    def forward(self, x, edge_index):
        n = x.size(0)
        loops = torch.arange(n, device=x.device)
        row = torch.cat([edge_index[0], loops])
        col = torch.cat([edge_index[1], loops])
        deg = torch.zeros(n, device=x.device).scatter_add_(0, col, torch.ones(col.numel()))
        norm = deg.pow(-0.5)[row] * deg.pow(-0.5)[col]
        x = self.lin(x)
        out = torch.zeros_like(x).index_add_(0, col, norm[:, None] * x[row])
        return out + self.bias


class EdgeIndexGCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = GCNConv(6, 16)
        self.conv2 = GCNConv(16, 3)

    def forward(self, x, edge_index):
        x = F.relu(self.conv1(x, edge_index))
        x = F.dropout(x, p=0.5, training=self.training)
        return F.log_softmax(self.conv2(x, edge_index), dim=1)


class BufferGCN(nn.Module):
    """A graph convolution whose adjacency is a buffer; dimension 0 has the nodes."""

    def __init__(self, nodes=10, features=5, hidden=8, classes=3):
        super().__init__()
        a = (torch.rand(nodes, nodes) < 0.3).float()
        a = ((a + a.t()) > 0).float() + torch.eye(nodes)
        d = a.sum(1).pow(-0.5)
        self.register_buffer("adj", d[:, None] * a * d[None, :])
        self.w1 = nn.Parameter(torch.empty(features, hidden))
        self.w2 = nn.Parameter(torch.empty(hidden, classes))
        nn.init.xavier_uniform_(self.w1)
        nn.init.xavier_uniform_(self.w2)

    def forward(self, x):
        return self.adj @ F.relu(self.adj @ x @ self.w1) @ self.w2


class GATLayer(nn.Module):
    def __init__(self, c_in, c_out, heads=2):
        super().__init__()
        self.heads = heads
        self.lin = nn.Linear(c_in, heads * c_out, bias=False)
        self.a_src = nn.Parameter(torch.randn(heads, c_out) * 0.3)
        self.a_dst = nn.Parameter(torch.randn(heads, c_out) * 0.3)

    def forward(self, x, adj):
        n = x.size(0)
        h = self.lin(x).view(n, self.heads, -1)
        e = (h * self.a_src).sum(-1)[:, None] + (h * self.a_dst).sum(-1)[None]
        e = F.leaky_relu(e, 0.2).masked_fill(adj[:, :, None] == 0, float("-inf"))
        alpha = torch.softmax(e, dim=1)
        return torch.einsum("ijh,jhc->ihc", alpha, h).flatten(1)


class DenseGAT(nn.Module):
    def __init__(self):
        super().__init__()
        self.gat1 = GATLayer(5, 8)
        self.gat2 = GATLayer(16, 2)

    def forward(self, x, adj):
        adj = ((adj + adj.t()) > 0).float() + torch.eye(adj.size(0))
        return self.gat2(F.elu(self.gat1(x, adj)), adj)


class KANLayer(nn.Module):
    def __init__(self, c_in, c_out, grid=5, order=3):
        super().__init__()
        self.order = order
        h = 2 / grid
        knots = torch.arange(-order, grid + order + 1) * h - 1
        self.register_buffer("grid", knots.expand(c_in, -1).contiguous())
        self.base_weight = nn.Parameter(torch.empty(c_out, c_in))
        self.spline_weight = nn.Parameter(torch.randn(c_out, c_in, grid + order) * 0.1)
        nn.init.kaiming_uniform_(self.base_weight, a=math.sqrt(5))

    def b_splines(self, x):
        x = x.unsqueeze(-1)
        g = self.grid
        bases = ((x >= g[:, :-1]) & (x < g[:, 1:])).to(x.dtype)
        for k in range(1, self.order + 1):
            left = (x - g[:, : -(k + 1)]) / (g[:, k:-1] - g[:, : -(k + 1)]) * bases[:, :, :-1]
            right = (g[:, k + 1 :] - x) / (g[:, k + 1 :] - g[:, 1:-k]) * bases[:, :, 1:]
            bases = left + right
        return bases

    def forward(self, x):
        base = F.linear(F.silu(x), self.base_weight)
        spline = F.linear(self.b_splines(x).flatten(1), self.spline_weight.flatten(1))
        return base + spline


class KAN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([KANLayer(4, 6), KANLayer(6, 2)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class HyperNetwork(nn.Module):
    """One network generates the weights of a small one for each sample."""

    def __init__(self, z=6, c_in=4, hidden=8):
        super().__init__()
        self.c_in, self.hidden = c_in, hidden
        self.trunk = nn.Sequential(nn.Linear(z, 32), nn.ReLU())
        self.w1 = nn.Linear(32, c_in * hidden)
        self.b1 = nn.Linear(32, hidden)
        self.w2 = nn.Linear(32, hidden)

    def forward(self, z, x):
        h = self.trunk(z)
        w1 = self.w1(h).view(-1, self.hidden, self.c_in)
        y = torch.relu(torch.bmm(w1, x.unsqueeze(-1)).squeeze(-1) + self.b1(h))
        return (self.w2(h) * y).sum(-1)


class DeepEquilibrium(nn.Module):
    """A fixed point without gradient, then one step with it."""

    def __init__(self, dim=12, steps=15):
        super().__init__()
        self.inject = nn.Linear(5, dim)
        self.cell = nn.Linear(dim, dim, bias=False)
        self.cell.weight.data.mul_(0.3)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 2)
        self.steps = steps

    def f(self, z, u):
        return torch.tanh(self.cell(z) + u)

    def forward(self, x):
        u = self.inject(x)
        with torch.no_grad():
            z = torch.zeros_like(u)
            for _ in range(self.steps):
                z = self.f(z, u)
        z = self.f(z.detach(), u)
        return self.head(self.norm(z))


class GumbelVAE(nn.Module):
    def __init__(self, n=5, k=4):
        super().__init__()
        self.n, self.k = n, k
        self.encoder = nn.Sequential(nn.Linear(32, 24), nn.ReLU(), nn.Linear(24, n * k))
        self.decoder = nn.Sequential(nn.Linear(n * k, 24), nn.ReLU(), nn.Linear(24, 32))

    def forward(self, x):
        q = self.encoder(x).view(-1, self.n, self.k)
        z = F.gumbel_softmax(q, tau=0.8, hard=True)
        recon = torch.sigmoid(self.decoder(z.flatten(1)))
        log_q = F.log_softmax(q, -1)
        kl = (log_q.exp() * (log_q + math.log(self.k))).sum((1, 2)).mean()
        return recon, kl


class MixtureDensity(nn.Module):
    def __init__(self, k=3):
        super().__init__()
        self.hidden = nn.Sequential(nn.Linear(2, 20), nn.Tanh())
        self.pi = nn.Linear(20, k)
        self.mu = nn.Linear(20, k)
        self.sigma = nn.Linear(20, k)

    def forward(self, x):
        h = self.hidden(x)
        return F.softmax(self.pi(h), -1), F.elu(self.sigma(h)) + 1 + 1e-6, self.mu(h)


class BYOL(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.online = nn.Sequential(
            nn.Flatten(), nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, dim)
        )
        self.target = copy.deepcopy(self.online)
        for p in self.target.parameters():
            p.requires_grad = False
        self.predictor = nn.Sequential(
            nn.Linear(dim, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, dim)
        )

    def forward(self, v1, v2):
        p1, p2 = self.predictor(self.online(v1)), self.predictor(self.online(v2))
        with torch.no_grad():
            t1, t2 = self.target(v1), self.target(v2)
        loss = lambda p, t: 2 - 2 * F.cosine_similarity(p, t.detach(), dim=-1).mean()
        return loss(p1, t2) + loss(p2, t1)


class MoCo(nn.Module):
    def __init__(self, dim=8, queue=32):
        super().__init__()
        self.encoder_q = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, dim))
        self.encoder_k = copy.deepcopy(self.encoder_q)
        for p in self.encoder_k.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(dim, queue), dim=0))
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum_update(self):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.data = k.data * 0.999 + q.data * 0.001

    @torch.no_grad()
    def _enqueue(self, keys):
        ptr = int(self.queue_ptr)
        self.queue[:, ptr : ptr + keys.shape[0]] = keys.T
        self.queue_ptr[0] = (ptr + keys.shape[0]) % self.queue.shape[1]

    def forward(self, im_q, im_k):
        q = F.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            self._momentum_update()
            k = F.normalize(self.encoder_k(im_k), dim=1)
        l_pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])
        logits = torch.cat([l_pos, l_neg], dim=1) / 0.07
        if self.training:
            self._enqueue(k)
        return logits


class DiffusionEps(nn.Module):
    def __init__(self, dim=16, steps=100):
        super().__init__()
        betas = torch.linspace(1e-4, 0.02, steps)
        self.register_buffer("alpha_bar", torch.cumprod(1 - betas, 0))
        self.time = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.inp = nn.Conv2d(1, dim, 3, padding=1)
        self.norm = nn.GroupNorm(4, dim)
        self.mid = nn.Conv2d(dim, dim, 3, padding=1)
        self.out = nn.Conv2d(dim, 1, 3, padding=1)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)
        self.dim = dim

    def embed(self, t):
        freqs = torch.exp(-math.log(10000) * torch.arange(self.dim // 2) / (self.dim // 2))
        args = t[:, None].float() * freqs[None]
        return torch.cat([args.cos(), args.sin()], -1)

    def forward(self, x, t):
        noise = torch.randn_like(x)
        a = self.alpha_bar[t][:, None, None, None]
        h = self.inp(a.sqrt() * x + (1 - a).sqrt() * noise)
        h = h + self.time(self.embed(t))[:, :, None, None]
        eps = self.out(F.silu(self.mid(F.silu(self.norm(h)))))
        return F.mse_loss(eps, noise)


class ActorCritic(nn.Module):
    def __init__(self, obs=8, actions=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
        self.mu = nn.Linear(32, actions)
        self.log_std = nn.Parameter(-0.5 * torch.ones(actions))
        self.value = nn.Linear(32, 1)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.orthogonal_(m.weight, math.sqrt(2))
                nn.init.zeros_(m.bias)
        nn.init.orthogonal_(self.mu.weight, 0.01)

    def forward(self, obs):
        h = self.body(obs)
        dist = torch.distributions.Normal(self.mu(h), self.log_std.exp())
        action = dist.sample()
        return action, dist.log_prob(action).sum(-1), self.value(h).squeeze(-1)


class DuelingDQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(6, 24), nn.ReLU())
        self.advantage = nn.Sequential(nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 4))
        self.value = nn.Sequential(nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, x):
        x = self.features(x)
        a, v = self.advantage(x), self.value(x)
        return v + a - a.mean(dim=1, keepdim=True)


class FactorizationMachine(nn.Module):
    def __init__(self, fields=(10, 20, 5), dim=6):
        super().__init__()
        self.register_buffer("offsets", torch.tensor((0, *fields[:-1])).cumsum(0))
        self.linear = nn.Embedding(sum(fields), 1)
        self.embedding = nn.Embedding(sum(fields), dim)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        x = x + self.offsets
        e = self.embedding(x)
        pair = 0.5 * (e.sum(1).pow(2) - e.pow(2).sum(1)).sum(1)
        return torch.sigmoid(self.linear(x).sum((1, 2)) + self.bias + pair)


class GradientReversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.alpha * grad, None


class DANN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(12, 24), nn.ReLU())
        self.label = nn.Linear(24, 3)
        self.domain = nn.Linear(24, 2)

    def forward(self, x):
        f = self.features(x)
        return self.label(f), self.domain(GradientReversal.apply(f, 1.0))


class SIREN(nn.Module):
    def __init__(self, width=24, omega=30.0):
        super().__init__()
        self.omega = omega
        self.layers = nn.ModuleList([nn.Linear(2, width), nn.Linear(width, width)])
        self.out = nn.Linear(width, 3)
        with torch.no_grad():
            self.layers[0].weight.uniform_(-1 / 2, 1 / 2)
            b = math.sqrt(6 / width) / omega
            self.layers[1].weight.uniform_(-b, b)
            self.out.weight.uniform_(-b, b)

    def forward(self, coords):
        x = coords
        for layer in self.layers:
            x = torch.sin(self.omega * layer(x))
        return self.out(x)


BATCHES = {
    "VQVAE": "2x1x16x16",
    "RealNVP": "8x6",
    "FixedStepODE": "4x4",
    "SiameseDistance": "2x1x28x28 2x1x28x28",
    "TripletNet": "4x10 4x10 4x10",
    "EdgeIndexGCN": "9x6 2x20:int64:0..9",
    "BufferGCN": "10x5",
    "DenseGAT": "7x5 7x7:int64:0..2",
    "KAN": "8x4",
    "HyperNetwork": "3x6 3x4",
    "DeepEquilibrium": "4x5",
    "GumbelVAE": "4x32",
    "MixtureDensity": "6x2",
    "BYOL": "4x1x8x8 4x1x8x8",
    "MoCo": "4x20 4x20",
    "DiffusionEps": "2x1x8x8 2:int64:0..100",
    "ActorCritic": "4x8",
    "DuelingDQN": "4x6",
    "FactorizationMachine": "6x3:int64:0..5",
    "DANN": "6x12",
    "SIREN": "16x2",
}
