r"""A goal-based forecaster of cars: dense goal candidates are scored against encoded polylines.

Source: https://github.com/Tsinghua-MARS-Lab/DenseTNT/issues/11
Fault: the encoded goal candidates are detached before they are used, so the small net that encodes
    them (goals_2D_mlps) never gets a gradient and stays at its random start.
Cause: detach|(goals_2D_mlps|goal.{0,20}(encod|mlp|layer)).{0,100}(no grad|without grad|None|never
    |not (train|updat|learn|receiv)|cut|block|untrained|frozen)
    |(no grad|gradient|graph).{0,60}(cut|stop|block|never|not (reach|flow|arrive)|broken
    |sever).{0,60}
Place: goals_2D_mlps|detach|goals_2D_hidden|get_scores
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class LayerNorm(nn.Module):
    r"""
    Layer normalization.
    """

    def __init__(self, hidden_size, eps=1e-5):
        super(LayerNorm, self).__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.bias = nn.Parameter(torch.zeros(hidden_size))
        self.variance_epsilon = eps

    def forward(self, x):
        u = x.mean(-1, keepdim=True)
        s = (x - u).pow(2).mean(-1, keepdim=True)
        x = (x - u) / torch.sqrt(s + self.variance_epsilon)
        return self.weight * x + self.bias


class MLP(nn.Module):
    def __init__(self, hidden_size, out_features=None):
        super(MLP, self).__init__()
        if out_features is None:
            out_features = hidden_size
        self.linear = nn.Linear(hidden_size, out_features)
        self.layer_norm = LayerNorm(out_features)

    def forward(self, hidden_states):
        hidden_states = self.linear(hidden_states)
        hidden_states = self.layer_norm(hidden_states)
        hidden_states = torch.nn.functional.relu(hidden_states)
        return hidden_states


class CrossAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.query = nn.Linear(hidden_size, hidden_size)
        self.key = nn.Linear(hidden_size, hidden_size)
        self.value = nn.Linear(hidden_size, hidden_size)

    def forward(self, hidden_states_query, hidden_states_key):
        q = self.query(hidden_states_query)
        k = self.key(hidden_states_key)
        v = self.value(hidden_states_key)
        scores = torch.matmul(q, k.transpose(-1, -2)) / q.size(-1) ** 0.5
        return torch.matmul(nn.Softmax(dim=-1)(scores), v)


class DecoderResCat(nn.Module):
    def __init__(self, hidden_size, in_features, out_features=60):
        super(DecoderResCat, self).__init__()
        self.mlp = MLP(in_features, hidden_size)
        self.fc = nn.Linear(hidden_size + in_features, out_features)

    def forward(self, hidden_states):
        hidden_states = torch.cat([hidden_states, self.mlp(hidden_states)], dim=-1)
        hidden_states = self.fc(hidden_states)
        return hidden_states


class Decoder(nn.Module):

    def __init__(self, hidden_size=48, future_frame_num=6):
        super(Decoder, self).__init__()
        self.future_frame_num = future_frame_num
        self.goals_2D_mlps = nn.Sequential(
            MLP(2, hidden_size),
            MLP(hidden_size),
            MLP(hidden_size)
        )
        self.goals_2D_decoder = DecoderResCat(hidden_size, hidden_size * 3, out_features=1)
        self.goals_2D_cross_attention = CrossAttention(hidden_size)
        self.complete_traj_decoder = DecoderResCat(hidden_size, hidden_size * 3,
                                                   out_features=future_frame_num * 2)

    def get_scores(self, goals_2D_tensor, inputs, hidden_states):
        # Fuse goals and get scores
        goals_2D_hidden = self.goals_2D_mlps(goals_2D_tensor).detach()  # here
        goals_2D_hidden_attention = self.goals_2D_cross_attention(goals_2D_hidden, inputs)
        li = [hidden_states[:, :1].expand(goals_2D_hidden.shape),
              goals_2D_hidden, goals_2D_hidden_attention]
        features = torch.cat(li, dim=-1)
        scores = self.goals_2D_decoder(features).squeeze(-1)
        scores = F.log_softmax(scores, dim=-1)
        return scores, features

    def forward(self, goals_2D, inputs, hidden_states, gt_points):
        scores, features = self.get_scores(goals_2D, inputs, hidden_states)

        # the candidate that is next to the real end is the label
        distance = (goals_2D - gt_points[:, -1:, :]).norm(dim=-1)
        index = distance.argmin(dim=-1)
        loss = F.nll_loss(scores, index)

        chosen = features[torch.arange(features.size(0)), index]
        traj = self.complete_traj_decoder(chosen).view(-1, self.future_frame_num, 2)
        loss = loss + F.smooth_l1_loss(traj, gt_points)
        return loss


class VectorNet(nn.Module):
    def __init__(self, hidden_size=48):
        super(VectorNet, self).__init__()
        self.point_level_sub_graph = nn.Sequential(MLP(4, hidden_size), MLP(hidden_size))
        self.global_graph = CrossAttention(hidden_size)
        self.decoder = Decoder(hidden_size)

    def forward(self, vectors, goals_2D, gt_points):
        # vectors: batch x polylines x points x 4
        inputs = self.point_level_sub_graph(vectors).max(dim=2)[0]
        hidden_states = self.global_graph(inputs, inputs) + inputs
        return self.decoder(goals_2D, inputs, hidden_states, gt_points)


def build():
    torch.manual_seed(0)
    return VectorNet()


def example_inputs():
    torch.manual_seed(1)
    start = torch.randn(12, 6, 1, 2)
    step = 0.5 * torch.randn(12, 6, 1, 2)
    points = start + step * torch.arange(6).view(1, 1, 6, 1)
    vectors = torch.cat([points[:, :, :-1], points[:, :, 1:]], dim=-1)
    gt_points = points[:, 0, -1:] + step[:, 0] * torch.arange(1, 7).view(1, 6, 1)
    goals_2D = gt_points[:, -1:] + 2 * torch.randn(12, 20, 2)
    return vectors, goals_2D, gt_points
