"""Generative, recommending and acting models as people publish them; none declares an input."""

from typing import Dict, List, Optional, Tuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 40)
        self.fc21 = nn.Linear(40, 20)
        self.fc22 = nn.Linear(40, 20)
        self.fc3 = nn.Linear(20, 40)
        self.fc4 = nn.Linear(40, 784)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 784))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


class ConvVAE(nn.Module):
    def __init__(self, latent_dim=16):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1),
            nn.LeakyReLU(),
            nn.Conv2d(8, 16, 3, 2, 1),
            nn.LeakyReLU(),
            nn.Conv2d(16, 32, 3, 2, 1),
            nn.LeakyReLU(),
            nn.Conv2d(32, 32, 3, 2, 1),
            nn.LeakyReLU(),
        )
        self.fc_mu = nn.Linear(32 * 4, latent_dim)
        self.fc_var = nn.Linear(32 * 4, latent_dim)
        self.decoder_input = nn.Linear(latent_dim, 32 * 4)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(32, 16, 3, 2, 1, 1),
            nn.ConvTranspose2d(16, 8, 3, 2, 1, 1),
            nn.ConvTranspose2d(8, 8, 3, 2, 1, 1),
            nn.ConvTranspose2d(8, 3, 3, 2, 1, 1),
        )

    def forward(self, input: Tensor, **kwargs) -> List[Tensor]:
        result = torch.flatten(self.encoder(input), start_dim=1)
        mu, log_var = self.fc_mu(result), self.fc_var(result)
        z = torch.randn_like(mu) * torch.exp(0.5 * log_var) + mu
        result = self.decoder_input(z).view(-1, 32, 2, 2)
        return [self.decoder(result), input, mu, log_var]


class DCGANGenerator(nn.Module):
    def __init__(self, nz=20, ngf=4, nc=3):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 4, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 4),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 4, ngf * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, nc, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, input):
        return self.main(input)


class DCGANDiscriminator(nn.Module):
    def __init__(self, nc=3, ndf=4):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(nc, ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ndf * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, ndf * 4, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ndf * 4),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 4, ndf * 8, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ndf * 8),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 8, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, input):
        return self.main(input).view(-1, 1).squeeze(1)


class ConditionalGenerator(nn.Module):
    def __init__(self, n_classes=10, latent_dim=24, img_shape=(1, 28, 28)):
        super().__init__()
        self.img_shape = img_shape
        self.label_emb = nn.Embedding(n_classes, n_classes)
        self.model = nn.Sequential(
            nn.Linear(latent_dim + n_classes, 32),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(32, 64),
            nn.BatchNorm1d(64, 0.8),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(64, int(np.prod(img_shape))),
            nn.Tanh(),
        )

    def forward(self, noise, labels):
        gen_input = torch.cat((self.label_emb(labels), noise), -1)
        img = self.model(gen_input)
        return img.view(img.size(0), *self.img_shape)


class ConditionalDiscriminator(nn.Module):
    def __init__(self, n_classes=10, img_shape=(1, 28, 28)):
        super().__init__()
        self.label_embedding = nn.Embedding(n_classes, n_classes)
        self.model = nn.Sequential(
            nn.Linear(n_classes + int(np.prod(img_shape)), 32), nn.LeakyReLU(0.2), nn.Linear(32, 1)
        )

    def forward(self, img, labels):
        d_in = torch.cat((img.view(img.size(0), -1), self.label_embedding(labels)), -1)
        return self.model(d_in)


class Pix2PixDiscriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            nn.Conv2d(6, 8, 4, 2, 1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(8, 16, 4, 2, 1),
            nn.InstanceNorm2d(16),
            nn.LeakyReLU(0.2),
            nn.ZeroPad2d((1, 0, 1, 0)),
            nn.Conv2d(16, 1, 4, padding=1),
        )

    def forward(self, img_A, img_B):
        img_input = torch.cat((img_A, img_B), 1)
        return self.model(img_input)


class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, time):
        half = self.dim // 2
        emb = torch.exp(torch.arange(half) * -(np.log(10000) / (half - 1)))
        emb = time[:, None] * emb[None, :]
        return torch.cat((emb.sin(), emb.cos()), dim=-1)


class DiffusionUNet(nn.Module):
    def __init__(self, ch=3, dim=16):
        super().__init__()
        self.time_mlp = nn.Sequential(SinusoidalPosEmb(dim), nn.Linear(dim, dim), nn.ReLU())
        self.conv0 = nn.Conv2d(ch, dim, 3, padding=1)
        self.down = nn.Conv2d(dim, dim * 2, 4, 2, 1)
        self.down2 = nn.Conv2d(dim * 2, dim * 4, 4, 2, 1)
        self.to_shift = nn.Linear(dim, dim * 4)
        self.up2 = nn.ConvTranspose2d(dim * 4, dim * 2, 4, 2, 1)
        self.up = nn.ConvTranspose2d(dim * 4, dim, 4, 2, 1)
        self.out = nn.Conv2d(dim * 2, ch, 1)

    def forward(self, x, timestep):
        t = self.time_mlp(timestep)
        x0 = self.conv0(x)
        x1 = F.relu(self.down(x0))
        x2 = F.relu(self.down2(x1)) + self.to_shift(t)[(...,) + (None,) * 2]
        u = torch.cat([self.up2(x2), x1], 1)
        return self.out(torch.cat([self.up(u), x0], 1))


class DiT(nn.Module):
    def __init__(self, input_size=16, patch=2, in_ch=4, dim=24, classes=10):
        super().__init__()
        self.x_embedder = nn.Conv2d(in_ch, dim, patch, patch)
        self.register_buffer("pos_embed", torch.zeros(1, (input_size // patch) ** 2, dim))
        self.t_embedder = nn.Sequential(nn.Linear(1, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.y_embedder = nn.Embedding(classes + 1, dim)
        self.block = nn.TransformerEncoderLayer(dim, 4, 48, batch_first=True)
        self.ada = nn.Linear(dim, 2 * dim)
        self.final = nn.Linear(dim, patch * patch * in_ch)
        self.patch, self.in_ch = patch, in_ch

    def unpatchify(self, x):
        p, c = self.patch, self.in_ch
        h = w = int(x.shape[1] ** 0.5)
        assert h * w == x.shape[1]
        x = x.reshape(x.shape[0], h, w, p, p, c)
        return torch.einsum("nhwpqc->nchpwq", x).reshape(x.shape[0], c, h * p, h * p)

    def forward(self, x, t, y):
        """
        x: (N, C, H, W) tensor of spatial inputs
        t: (N,) tensor of diffusion timesteps
        y: (N,) tensor of class labels
        """
        x = self.x_embedder(x).flatten(2).transpose(1, 2) + self.pos_embed
        c = self.t_embedder(t.float()[:, None]) + self.y_embedder(y)
        shift, scale = self.ada(c).chunk(2, dim=1)
        x = self.block(x) * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)
        return self.unpatchify(self.final(x))


class RealNVP(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        mask = torch.tensor([i % 2 for i in range(dim)], dtype=torch.float32)
        self.register_buffer("mask", torch.stack([mask, 1 - mask]))
        self.s = nn.ModuleList(
            [nn.Sequential(nn.Linear(dim, 16), nn.Tanh(), nn.Linear(16, dim)) for _ in range(2)]
        )
        self.t = nn.ModuleList(
            [nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, dim)) for _ in range(2)]
        )

    def forward(self, x):
        log_det = x.new_zeros(x.shape[0])
        for m, s, t in zip(self.mask, self.s, self.t):
            kept = x * m
            scale = s(kept) * (1 - m)
            x = kept + (1 - m) * (x * scale.exp() + t(kept))
            log_det += scale.sum(dim=1)
        return x, log_det


class VectorQuantizer(nn.Module):
    def __init__(self, n_e=32, e_dim=8, beta=0.25):
        super().__init__()
        self.n_e, self.e_dim, self.beta = n_e, e_dim, beta
        self.embedding = nn.Embedding(n_e, e_dim)

    def forward(self, z):
        # reshape z -> (batch, height, width, channel) and flatten
        z = z.permute(0, 2, 3, 1).contiguous()
        z_flattened = z.view(-1, self.e_dim)
        d = torch.cdist(z_flattened, self.embedding.weight)
        idx = d.argmin(1)
        z_q = self.embedding(idx).view(z.shape)
        loss = F.mse_loss(z_q.detach(), z) + self.beta * F.mse_loss(z_q, z.detach())
        return loss, (z + (z_q - z).detach()).permute(0, 3, 1, 2)


class DQN(nn.Module):
    def __init__(self, n_actions=6):
        super().__init__()
        self.conv1 = nn.Conv2d(4, 16, 8, stride=4)
        self.conv2 = nn.Conv2d(16, 32, 4, stride=2)
        self.conv3 = nn.Conv2d(32, 32, 3, stride=1)
        self.fc4 = nn.Linear(7 * 7 * 32, 64)
        self.head = nn.Linear(64, n_actions)

    def forward(self, x):
        x = x.float() / 255
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.relu(self.conv3(x))
        x = F.relu(self.fc4(x.view(x.size(0), -1)))
        return self.head(x)


class DuelingDQN(nn.Module):
    def __init__(self, state_dim=8, n_actions=4):
        super().__init__()
        self.feature = nn.Sequential(nn.Linear(state_dim, 32), nn.ReLU())
        self.advantage = nn.Linear(32, n_actions)
        self.value = nn.Linear(32, 1)

    def forward(self, obs):
        h = self.feature(obs)
        a = self.advantage(h)
        return self.value(h) + a - a.mean(dim=1, keepdim=True)


class Critic(nn.Module):
    def __init__(self, state_dim=17, action_dim=6):
        super().__init__()
        self.l1 = nn.Linear(state_dim + action_dim, 32)
        self.l2 = nn.Linear(32, 32)
        self.l3 = nn.Linear(32, 1)

    def forward(self, state, action):
        q = F.relu(self.l1(torch.cat([state, action], 1)))
        q = F.relu(self.l2(q))
        return self.l3(q)


class RecurrentPolicy(nn.Module):
    def __init__(self, obs_dim=10, hidden=16, acts=3):
        super().__init__()
        self.fc = nn.Linear(obs_dim, hidden)
        self.gru = nn.GRUCell(hidden, hidden)
        self.pi = nn.Linear(hidden, acts)
        self.v = nn.Linear(hidden, 1)

    def forward(self, obs: Tensor, hx: Tensor, done: Tensor):
        hx = hx * (1 - done).unsqueeze(-1)
        hx = self.gru(torch.relu(self.fc(obs)), hx)
        return F.softmax(self.pi(hx), -1), self.v(hx), hx


class QMixer(nn.Module):
    def __init__(self, n_agents=3, state_dim=11, embed=8):
        super().__init__()
        self.n_agents, self.state_dim, self.embed = n_agents, state_dim, embed
        self.hyper_w1 = nn.Linear(state_dim, embed * n_agents)
        self.hyper_b1 = nn.Linear(state_dim, embed)
        self.hyper_w2 = nn.Linear(state_dim, embed)

    def forward(self, agent_qs, states):
        bs = agent_qs.size(0)
        states = states.reshape(-1, self.state_dim)
        agent_qs = agent_qs.view(-1, 1, self.n_agents)
        w1 = torch.abs(self.hyper_w1(states)).view(-1, self.n_agents, self.embed)
        b1 = self.hyper_b1(states).view(-1, 1, self.embed)
        hidden = F.elu(torch.bmm(agent_qs, w1) + b1)
        w2 = torch.abs(self.hyper_w2(states)).view(-1, self.embed, 1)
        return torch.bmm(hidden, w2).view(bs, -1, 1)


class NCF(nn.Module):
    def __init__(self, user_num=50, item_num=80, factor=8):
        super().__init__()
        self.embed_user = nn.Embedding(user_num, factor)
        self.embed_item = nn.Embedding(item_num, factor)
        self.mlp = nn.Sequential(nn.Linear(2 * factor, 8), nn.ReLU())
        self.predict_layer = nn.Linear(factor + 8, 1)

    def forward(self, user, item):
        u, i = self.embed_user(user), self.embed_item(item)
        prediction = self.predict_layer(torch.cat((u * i, self.mlp(torch.cat((u, i), -1))), -1))
        return prediction.view(-1)


class DeepFM(nn.Module):
    def __init__(self, field_dims=(10, 20, 5), embed=4):
        super().__init__()
        self.register_buffer("offsets", torch.tensor([0, 10, 30]))
        self.embedding = nn.Embedding(sum(field_dims), embed)
        self.linear = nn.Embedding(sum(field_dims), 1)
        self.mlp = nn.Sequential(
            nn.Linear(len(field_dims) * embed, 16), nn.ReLU(), nn.Linear(16, 1)
        )

    def forward(self, x):
        """:param x: Long tensor of size ``(batch_size, num_fields)``"""
        x = x + self.offsets
        e = self.embedding(x)
        fm = 0.5 * (e.sum(1) ** 2 - (e**2).sum(1)).sum(1, keepdim=True)
        y = self.linear(x).sum(1) + fm + self.mlp(e.flatten(1))
        return torch.sigmoid(y.squeeze(1))


class TabTransformer(nn.Module):
    def __init__(self, categories=(4, 7, 3), num_continuous=5, dim=8):
        super().__init__()
        self.embeds = nn.ModuleList([nn.Embedding(c, dim) for c in categories])
        self.encoder = nn.TransformerEncoderLayer(dim, 2, 16, batch_first=True)
        self.norm = nn.LayerNorm(num_continuous)
        self.mlp = nn.Sequential(
            nn.Linear(dim * 3 + num_continuous, 16), nn.ReLU(), nn.Linear(16, 1)
        )

    def forward(self, x_categ, x_cont):
        assert x_cont.shape[1] == 5, "you must pass in 5 continuous values"
        x = torch.stack([e(x_categ[:, i]) for i, e in enumerate(self.embeds)], 1)
        x = self.encoder(x).flatten(1)
        return self.mlp(torch.cat((x, self.norm(x_cont)), dim=-1))


class TwoTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.user_tower = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 8))
        self.item_tower = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 8))

    def forward(self, batch: Dict[str, Tensor]) -> Tensor:
        u = F.normalize(self.user_tower(batch["user_features"]), dim=-1)
        i = F.normalize(self.item_tower(batch["item_features"]), dim=-1)
        return u @ i.T


class TripletNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(
            nn.Conv2d(1, 8, 5),
            nn.PReLU(),
            nn.MaxPool2d(2, stride=2),
            nn.Conv2d(8, 16, 5),
            nn.PReLU(),
            nn.MaxPool2d(2, stride=2),
        )
        self.fc = nn.Linear(16 * 4 * 4, 2)

    def one(self, x):
        x = self.embed(x)
        return self.fc(x.view(x.size()[0], -1))

    def forward(self, anchor, positive, negative):
        return self.one(anchor), self.one(positive), self.one(negative)


class HyperNetwork(nn.Module):
    def __init__(self, z_dim=8, in_f=5, out_f=3):
        super().__init__()
        self.in_f, self.out_f = in_f, out_f
        self.w = nn.Linear(z_dim, in_f * out_f)
        self.b = nn.Linear(z_dim, out_f)

    def forward(self, x, z):
        weight = self.w(z).view(-1, self.out_f, self.in_f)
        return torch.bmm(weight, x.unsqueeze(-1)).squeeze(-1) + self.b(z)


class VarArgs(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 4)
        self.b = nn.Linear(9, 4)

    def forward(self, *inputs):
        x, y = inputs
        return self.a(x) + self.b(y)


class MultiScale(nn.Module):
    """FPN head: features from three levels"""

    def __init__(self, channels=(8, 16, 32), out=8):
        super().__init__()
        self.lateral = nn.ModuleList([nn.Conv2d(c, out, 1) for c in channels])
        self.smooth = nn.Conv2d(out, out, 3, padding=1)

    def forward(self, features: List[Tensor]) -> List[Tensor]:
        c3, c4, c5 = features
        p5 = self.lateral[2](c5)
        p4 = self.lateral[1](c4) + F.interpolate(p5, scale_factor=2)
        p3 = self.lateral[0](c3) + F.interpolate(p4, scale_factor=2)
        return [self.smooth(p3), p4, p5]


class KeywordOnly(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(16, 16)
        self.kv = nn.Linear(10, 32)

    def forward(self, *, query: Tensor, context: Tensor, mask: Optional[Tensor] = None):
        q = self.q(query)
        k, v = self.kv(context).chunk(2, -1)
        a = q @ k.transpose(-1, -2)
        if mask is not None:
            a = a.masked_fill(~mask, -1e9)
        return a.softmax(-1) @ v


class VisionLanguage(nn.Module):
    def __init__(self):
        super().__init__()
        self.visual = nn.Sequential(
            nn.Conv2d(3, 8, 4, 4), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 8 * 8, 16)
        )
        self.tok = nn.Embedding(100, 16)
        self.positional_embedding = nn.Parameter(torch.zeros(13, 16))
        self.text = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.logit_scale = nn.Parameter(torch.ones([]) * np.log(1 / 0.07))

    def forward(self, image, text):
        im = F.normalize(self.visual(image), dim=-1)
        t = self.text(self.tok(text) + self.positional_embedding)
        t = F.normalize(t[torch.arange(t.shape[0]), text.argmax(dim=-1)], dim=-1)
        logits = self.logit_scale.exp() * im @ t.t()
        return logits, logits.t()


class VQA(nn.Module):
    def __init__(self):
        super().__init__()
        self.img = nn.Linear(36, 16)
        self.word = nn.Embedding(60, 8)
        self.lstm = nn.LSTM(8, 16, batch_first=True)
        self.att = nn.Linear(32, 1)
        self.out = nn.Linear(16, 5)

    def forward(self, v: Tensor, q: Tensor, q_len: Tensor):
        x, _ = self.lstm(self.word(q))
        h = x[torch.arange(q.size(0)), q_len - 1]
        v = self.img(v)
        w = self.att(torch.cat([v, h.unsqueeze(1).expand_as(v)], -1)).softmax(1)
        return self.out((w * v).sum(1) * h)


class MLPUnbatched(nn.Module):
    """a controller that gets one observation vector at a time"""

    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(12, 16)
        self.out = nn.Linear(16, 2)

    def forward(self, observation):
        x = observation.unsqueeze(0).unsqueeze(0)
        y, _ = self.rnn(x)
        return self.out(y.squeeze(0)).squeeze(0)


class StateTuple(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(5, 8, 2, batch_first=True)
        self.fc = nn.Linear(8, 1)

    def forward(self, x, state: Tuple[Tensor, Tensor]):
        out, state = self.lstm(x, state)
        return self.fc(out), state


MODELS = (
    "VAE",
    "ConvVAE",
    "DCGANGenerator",
    "DCGANDiscriminator",
    "ConditionalGenerator",
    "ConditionalDiscriminator",
    "Pix2PixDiscriminator",
    "DiffusionUNet",
    "DiT",
    "RealNVP",
    "VectorQuantizer",
    "DQN",
    "DuelingDQN",
    "Critic",
    "RecurrentPolicy",
    "QMixer",
    "NCF",
    "DeepFM",
    "TabTransformer",
    "TwoTower",
    "TripletNet",
    "HyperNetwork",
    "VarArgs",
    "MultiScale",
    "KeywordOnly",
    "VisionLanguage",
    "VQA",
    "MLPUnbatched",
    "StateTuple",
)
