"""Generative, recommending and acting models as people publish them; none declares an input."""

from typing import Any, Dict, List, Optional, Tuple, Union

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class BetaVAE64(nn.Module):
    def __init__(self, z_dim=10, nc=1):
        super().__init__()
        self.z_dim = z_dim
        self.encoder = nn.Sequential(
            nn.Conv2d(nc, 8, 4, 2, 1),
            nn.ReLU(True),
            nn.Conv2d(8, 8, 4, 2, 1),
            nn.ReLU(True),
            nn.Conv2d(8, 16, 4, 2, 1),
            nn.ReLU(True),
            nn.Conv2d(16, 32, 8),
            nn.ReLU(True),
        )
        self.fc = nn.Linear(32, 2 * z_dim)
        self.dec = nn.Linear(z_dim, 64 * 64)

    def forward(self, x):
        h = self.encoder(x).view(-1, 32)
        mu, logvar = self.fc(h).chunk(2, 1)
        z = mu + (logvar / 2).exp() * torch.randn_like(mu)
        return self.dec(z).view(x.size()), mu, logvar


class CVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(784 + 10, 32)
        self.mu = nn.Linear(32, 8)
        self.dec = nn.Linear(8 + 10, 784)

    def forward(self, x, c):
        x = x.view(-1, 28 * 28)
        z = self.mu(F.relu(self.enc(torch.cat([x, c], 1))))
        return torch.sigmoid(self.dec(torch.cat([z, c], 1)))


class WGANGenerator(nn.Module):
    def __init__(self, DIM=4):
        super().__init__()
        self.preprocess = nn.Sequential(nn.Linear(128, 4 * 4 * 4 * DIM), nn.ReLU(True))
        self.block1 = nn.ConvTranspose2d(4 * DIM, 2 * DIM, 5)
        self.block2 = nn.ConvTranspose2d(2 * DIM, DIM, 5)
        self.deconv_out = nn.ConvTranspose2d(DIM, 1, 8, stride=2)
        self.DIM = DIM

    def forward(self, input):
        output = self.preprocess(input).view(-1, 4 * self.DIM, 4, 4)
        output = F.relu(self.block1(output))[:, :, :7, :7]
        output = self.deconv_out(F.relu(self.block2(output)))
        return torch.sigmoid(output).view(-1, 784)[:, :100]


class InfoGAN(nn.Module):
    def __init__(self):
        super().__init__()
        self.init_size = 8
        self.l1 = nn.Sequential(nn.Linear(62 + 10 + 2, 16 * self.init_size**2))
        self.conv_blocks = nn.Sequential(
            nn.BatchNorm2d(16),
            nn.Upsample(scale_factor=2),
            nn.Conv2d(16, 8, 3, padding=1),
            nn.Conv2d(8, 1, 3, padding=1),
        )

    def forward(self, noise, labels, code):
        gen_input = torch.cat((noise, labels, code), -1)
        out = self.l1(gen_input)
        out = out.view(out.shape[0], 16, self.init_size, self.init_size)
        return self.conv_blocks(out)


class ACGANDisc(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_blocks = nn.Sequential(
            nn.Conv2d(1, 8, 3, 2, 1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(8, 16, 3, 2, 1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(16, 16, 3, 2, 1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(16, 16, 3, 2, 1),
        )
        self.adv_layer = nn.Sequential(nn.Linear(16 * 2**2, 1), nn.Sigmoid())

    def forward(self, img):
        out = self.conv_blocks(img)
        out = out.view(out.shape[0], -1)
        return self.adv_layer(out)


class StyleMapping(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(*[nn.Linear(24, 24) for _ in range(3)])
        self.const = nn.Parameter(torch.randn(1, 16, 4, 4))
        self.style = nn.Linear(24, 32)
        self.conv = nn.Conv2d(16, 3, 3, padding=1)

    def forward(self, z, noise=None):
        w = self.net(F.normalize(z, dim=1))
        s, b = self.style(w).view(-1, 2, 16, 1, 1).unbind(1)
        return self.conv(self.const * (s + 1) + b)


class DDPMEps(nn.Module):
    def __init__(self, T=200, ch=8):
        super().__init__()
        self.time = nn.Embedding(T, ch)
        self.head = nn.Conv2d(3, ch, 3, padding=1)
        self.down = nn.Conv2d(ch, ch, 3, 2, 1)
        self.gn = nn.GroupNorm(4, ch)
        self.q, self.k, self.v = (nn.Conv2d(ch, ch, 1) for _ in range(3))
        self.tail = nn.Conv2d(ch, 3, 3, padding=1)

    def forward(self, x, t):
        temb = self.time(t)
        h = self.down(self.head(x)) + temb[:, :, None, None]
        B, C, H, W = h.shape
        n = self.gn(h)
        q = self.q(n).permute(0, 2, 3, 1).view(B, H * W, C)
        k = self.k(n).view(B, C, H * W)
        v = self.v(n).permute(0, 2, 3, 1).view(B, H * W, C)
        w = torch.bmm(q, k).mul(C**-0.5).softmax(-1)
        h = h + torch.bmm(w, v).view(B, H, W, C).permute(0, 3, 1, 2)
        return self.tail(F.interpolate(h, scale_factor=2))


class TextToImageUNet(nn.Module):
    def __init__(self, ch=8, ctx=12):
        super().__init__()
        self.conv_in = nn.Conv2d(4, ch, 3, padding=1)
        self.t = nn.Sequential(nn.Linear(16, ch), nn.SiLU())
        self.to_k, self.to_v = nn.Linear(ctx, ch), nn.Linear(ctx, ch)
        self.conv_out = nn.Conv2d(ch, 4, 3, padding=1)
        self.register_buffer("freqs", torch.exp(-torch.arange(8) / 8.0))

    def forward(
        self, sample: Tensor, timestep: Union[Tensor, float, int], encoder_hidden_states: Tensor
    ) -> Tensor:
        timesteps = timestep
        if not torch.is_tensor(timesteps):
            timesteps = torch.tensor([timesteps], dtype=torch.float32)
        elif timesteps.dim() == 0:
            timesteps = timesteps[None]
        timesteps = timesteps.expand(sample.shape[0])
        a = timesteps[:, None].float() * self.freqs
        x = self.conv_in(sample) + self.t(torch.cat([a.sin(), a.cos()], -1))[..., None, None]
        q = x.flatten(2).transpose(1, 2)
        k, v = self.to_k(encoder_hidden_states), self.to_v(encoder_hidden_states)
        x = x + F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)
        return self.conv_out(x)


class ScoreMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 16), nn.SiLU(), nn.Linear(16, 2))

    def forward(self, x, sigma):
        return self.net(torch.cat([x, sigma[:, None]], dim=1)) / sigma[:, None]


class MADE(nn.Module):
    def __init__(self, nin=11, nh=20):
        super().__init__()
        self.l1, self.l2 = nn.Linear(nin, nh), nn.Linear(nh, nin * 2)
        self.register_buffer("mask", torch.ones(nh, nin))

    def forward(self, x):
        h = F.relu(F.linear(x, self.l1.weight * self.mask, self.l1.bias))
        return self.l2(h)


class ActorCritic(nn.Module):
    def __init__(self, num_inputs=4, num_actions=2):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(num_inputs, 16), nn.ReLU(), nn.Linear(16, 1))
        self.actor = nn.Sequential(
            nn.Linear(num_inputs, 16), nn.ReLU(), nn.Linear(16, num_actions), nn.Softmax(dim=1)
        )

    def forward(self, x):
        value = self.critic(x)
        return torch.distributions.Categorical(self.actor(x)), value


class TwinCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.q1 = nn.Sequential(nn.Linear(11 + 3, 16), nn.ReLU(), nn.Linear(16, 1))
        self.q2 = nn.Sequential(nn.Linear(14, 16), nn.ReLU(), nn.Linear(16, 1))
        self.action_embed = nn.Linear(3, 3)

    def forward(self, obs, act):
        sa = torch.cat([obs, self.action_embed(act)], dim=-1)
        return self.q1(sa), self.q2(sa)


class VinCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.fcs1 = nn.Linear(24, 16)
        self.fc2 = nn.Linear(16 + 4, 16)
        self.fc3 = nn.Linear(16, 1)

    def forward(self, state, action):
        xs = F.relu(self.fcs1(state))
        x = torch.cat((xs, action), dim=1)
        return self.fc3(F.relu(self.fc2(x)))


class DecisionTransformer(nn.Module):
    def __init__(self, state_dim=11, act_dim=3, h=16, max_ep=100):
        super().__init__()
        self.embed_timestep = nn.Embedding(max_ep, h)
        self.embed_return = nn.Linear(1, h)
        self.embed_state = nn.Linear(state_dim, h)
        self.embed_action = nn.Linear(act_dim, h)
        self.tr = nn.TransformerEncoderLayer(h, 2, 32, batch_first=True)
        self.predict_action = nn.Linear(h, act_dim)
        self.h = h

    def forward(self, states, actions, returns_to_go, timesteps):
        b, s = states.shape[0], states.shape[1]
        te = self.embed_timestep(timesteps)
        x = (
            torch.stack(
                (
                    self.embed_return(returns_to_go) + te,
                    self.embed_state(states) + te,
                    self.embed_action(actions) + te,
                ),
                dim=1,
            )
            .permute(0, 2, 1, 3)
            .reshape(b, 3 * s, self.h)
        )
        x = self.tr(x).reshape(b, s, 3, self.h).permute(0, 2, 1, 3)
        return self.predict_action(x[:, 1])


class WorldModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(32 + 3 + 24, 16)
        self.rnn = nn.GRUCell(16, 24)
        self.prior = nn.Linear(24, 64)

    def forward(self, prev_stoch, prev_action, prev_deter):
        x = F.elu(self.fc(torch.cat([prev_stoch, prev_action, prev_deter], -1)))
        deter = self.rnn(x, prev_deter)
        return self.prior(deter).chunk(2, -1), deter


class MatrixFactorization(nn.Module):
    def __init__(self, n_users=30, n_items=70):
        super().__init__()
        self.user_factors = nn.Embedding(n_users, 8)
        self.item_factors = nn.Embedding(n_items, 8)
        self.user_bias = nn.Embedding(n_users, 1)

    def forward(self, user, item):
        return (self.user_factors(user) * self.item_factors(item)).sum(1) + self.user_bias(
            user
        ).squeeze()


class WideDeep(nn.Module):
    def __init__(self, n_wide=13, cards=(6, 9, 4), d=4):
        super().__init__()
        self.wide = nn.Linear(n_wide, 1)
        self.embs = nn.ModuleList([nn.Embedding(c, d) for c in cards])
        self.deep = nn.Sequential(nn.Linear(3 * d + 5, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, X_w, X_d):
        emb = [e(X_d[:, i].long()) for i, e in enumerate(self.embs)]
        deep = torch.cat(emb + [X_d[:, 3:].float()], 1)
        return torch.sigmoid(self.wide(X_w.float()) + self.deep(deep))


class DLRM(nn.Module):
    def __init__(self):
        super().__init__()
        self.bot = nn.Sequential(nn.Linear(13, 8), nn.ReLU())
        self.tables = nn.ModuleList([nn.EmbeddingBag(n, 8, mode="sum") for n in (10, 20, 30)])
        self.top = nn.Linear(8 + 6, 1)

    def forward(self, dense_x, sparse_x):
        d = self.bot(dense_x)
        e = [t(sparse_x[:, i : i + 1]) for i, t in enumerate(self.tables)]
        T = torch.stack([d, *e], 1)
        Z = torch.bmm(T, T.transpose(1, 2))
        i, j = torch.tril_indices(4, 4, -1)
        return torch.sigmoid(self.top(torch.cat([d, Z[:, i, j]], 1)))


class SASRec(nn.Module):
    def __init__(self, items=50, d=16, maxlen=20):
        super().__init__()
        self.item_emb = nn.Embedding(items + 1, d, padding_idx=0)
        self.pos_emb = nn.Embedding(maxlen, d)
        self.attn = nn.MultiheadAttention(d, 2)

    def forward(self, user_ids, log_seqs, pos_seqs, neg_seqs):
        s = self.item_emb(log_seqs)
        s = s + self.pos_emb(torch.arange(log_seqs.shape[1]).unsqueeze(0))
        s = s.transpose(0, 1)
        s = self.attn(s, s, s)[0].transpose(0, 1)
        return (s * self.item_emb(pos_seqs)).sum(-1), (s * self.item_emb(neg_seqs)).sum(-1)


class DIN(nn.Module):
    def __init__(self):
        super().__init__()
        self.item = nn.Embedding(40, 8)
        self.att = nn.Linear(32, 1)
        self.fc = nn.Linear(16, 1)

    def forward(self, history, target_item):
        q = self.item(target_item).unsqueeze(1)
        h = self.item(history)
        q = q.expand_as(h)
        w = self.att(torch.cat([q, h, q - h, q * h], -1))
        return self.fc(torch.cat([(w * h).sum(1), q[:, 0]], -1))


class BatchDict(nn.Module):
    def __init__(self):
        super().__init__()
        self.img = nn.Conv2d(3, 8, 3, 2)
        self.txt = nn.Embedding(33, 8)
        self.out = nn.Linear(16, 2)

    def forward(self, batch):
        image, tokens = batch["image"], batch["tokens"]
        return self.out(torch.cat([self.img(image).mean((2, 3)), self.txt(tokens).mean(1)], -1))


class SampleDict(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(7, 2)

    def forward(self, sample: Dict[str, Any]):
        x = sample["features"]
        w = sample.get("weight")
        y = self.fc(x)
        return {"logits": y if w is None else y * w}


class TensorTuple(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(5, 4), nn.Linear(8, 4)

    def forward(self, inputs: Tuple[Tensor, Tensor]):
        x, y = inputs
        return self.a(x) * self.b(y)


class UntypedPair(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = nn.Linear(5, 4)
        self.right = nn.Conv2d(1, 4, 3)

    def forward(self, x):
        vec, img = x
        return self.left(vec) + self.right(img).mean((2, 3))


class IndexedInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.stems = nn.ModuleList([nn.Linear(n, 8) for n in (3, 6, 9)])
        self.out = nn.Linear(24, 1)

    def forward(self, xs):
        hs = [stem(xs[i]) for i, stem in enumerate(self.stems)]
        return self.out(torch.cat(hs, dim=1))


class StarArgs(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(9, 6), nn.ReLU(), nn.Linear(6, 1))

    def forward(self, *args, **kwargs):
        return self.net(torch.cat(args, dim=-1))


class KwOnlyFlags(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(44, 8)
        self.lin = nn.Linear(8, 4)

    def forward(
        self,
        input_ids: Tensor,
        *,
        temperature: float = 1.0,
        use_cache: bool = False,
        past: Optional[Tensor] = None,
    ):
        return self.lin(self.emb(input_ids)) / temperature


class TripletMargin(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(
            nn.Conv2d(3, 8, 5, 2), nn.ReLU(), nn.Conv2d(8, 8, 5, 2), nn.Flatten(), nn.LazyLinear(4)
        )

    def forward(self, a, p, n):
        return [F.normalize(self.enc(v)) for v in (a, p, n)]


class Maml(nn.Module):
    """functional weights: forward(x, vars)"""

    def __init__(self):
        super().__init__()
        self.vars = nn.ParameterList(
            [
                nn.Parameter(torch.randn(16, 1, 3, 3)),
                nn.Parameter(torch.zeros(16)),
                nn.Parameter(torch.randn(5, 16)),
            ]
        )

    def forward(self, x, vars=None):
        if vars is None:
            vars = self.vars
        x = F.conv2d(x, vars[0], vars[1], stride=2)
        return F.linear(x.mean((2, 3)), vars[2])


class ProtoNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)
        )

    def forward(self, support, query):
        n_way, k_shot = support.shape[:2]
        s = (
            self.encoder(support.reshape(-1, *support.shape[2:]))
            .flatten(1)
            .view(n_way, k_shot, -1)
            .mean(1)
        )
        q = self.encoder(query.reshape(-1, *query.shape[-3:])).flatten(1)
        return -torch.cdist(q, s)


class MIL(nn.Module):
    """attention-based multiple instance learning: a bag of 28x28 patches"""

    def __init__(self):
        super().__init__()
        self.fe1 = nn.Sequential(
            nn.Conv2d(1, 4, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(4, 8, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.fe2 = nn.Sequential(nn.Linear(8 * 4 * 4, 16), nn.ReLU())
        self.att = nn.Linear(16, 1)
        self.cls = nn.Linear(16, 1)

    def forward(self, x):
        x = x.squeeze(0)
        H = self.fe1(x).view(-1, 8 * 4 * 4)
        H = self.fe2(H)
        A = F.softmax(self.att(H).transpose(1, 0), dim=1)
        return self.cls(A @ H)


class CLIPText(nn.Module):
    def __init__(self):
        super().__init__()
        self.token_embedding = nn.Embedding(99, 16)
        self.positional_embedding = nn.Parameter(torch.zeros(77, 16))
        self.block = nn.TransformerEncoderLayer(16, 2, 32)
        self.proj = nn.Parameter(torch.zeros(16, 8))

    def forward(self, text):
        x = self.token_embedding(text) + self.positional_embedding
        x = self.block(x.permute(1, 0, 2)).permute(1, 0, 2)
        return x[torch.arange(x.shape[0]), text.argmax(dim=-1)] @ self.proj


class ImageCaptioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(3, 8, 4, 4), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 16)
        )
        self.embed = nn.Embedding(55, 16)
        self.lstm = nn.LSTM(16, 16, batch_first=True)
        self.linear = nn.Linear(16, 55)

    def forward(self, images, captions, lengths):
        f = self.cnn(images)
        e = torch.cat((f.unsqueeze(1), self.embed(captions)), 1)
        packed = nn.utils.rnn.pack_padded_sequence(e, lengths, batch_first=True)
        return self.linear(self.lstm(packed)[0][0])


class Multimodal(nn.Module):
    def __init__(self):
        super().__init__()
        self.audio = nn.GRU(33, 8, batch_first=True)
        self.video = nn.GRU(50, 8, batch_first=True)
        self.text = nn.Embedding(64, 8)
        self.out = nn.Linear(24, 1)

    def forward(self, audio, video, text):
        a = self.audio(audio)[0][:, -1]
        v = self.video(video)[0][:, -1]
        return self.out(torch.cat([a, v, self.text(text).mean(1)], 1))


MODELS = (
    "BetaVAE64",
    "CVAE",
    "WGANGenerator",
    "InfoGAN",
    "ACGANDisc",
    "StyleMapping",
    "DDPMEps",
    "TextToImageUNet",
    "ScoreMLP",
    "MADE",
    "ActorCritic",
    "TwinCritic",
    "VinCritic",
    "DecisionTransformer",
    "WorldModel",
    "MatrixFactorization",
    "WideDeep",
    "DLRM",
    "SASRec",
    "DIN",
    "BatchDict",
    "SampleDict",
    "TensorTuple",
    "UntypedPair",
    "IndexedInputs",
    "StarArgs",
    "KwOnlyFlags",
    "TripletMargin",
    "Maml",
    "ProtoNet",
    "MIL",
    "CLIPText",
    "ImageCaptioner",
    "Multimodal",
)
