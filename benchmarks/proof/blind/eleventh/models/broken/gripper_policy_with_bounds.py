r"""A squashed Gaussian policy for a robot's gripper, trained by likelihood of demonstrations.

Source: https://github.com/huggingface/lerobot/issues/2108
Fault: the bounds -5 and 2 are meant for the logarithm of the deviation, but the deviation itself
    is clamped after exp; the lower bound never acts, so that the deviation can run to zero (or get
    negative bounds), and wherever it is over 2 the gradient is cut.
Cause: clamp.*(log|exp|after|std|deviation|instead|order|bound)
    |(log_?std|log of the (std|deviation)).*(clamp|bound|clip|limit|negative|zero|underflow)
    |(std|deviation|variance).*(clamp|bound|clip|limit|negative|zero|underflow)
    |(bound|limit|range|std_min|-5).*(never|log|negative|no effect|ineffective|wrong)
Place: std|log_std|std_layer|clamp|Policy|distribution|exp
"""
import torch
from torch import nn
from torch.distributions import MultivariateNormal, TransformedDistribution
from torch.distributions.transforms import TanhTransform


class MLP(nn.Module):
    def __init__(self, input_dim, hidden_dims, activations=None, activate_final=False):
        super().__init__()
        layers = []
        total = len(hidden_dims)
        for idx, hidden in enumerate(hidden_dims):
            layers.append(nn.Linear(input_dim, hidden))
            if idx + 1 < total or activate_final:
                layers.append(nn.LayerNorm(hidden))
                layers.append(activations if activations is not None else nn.SiLU())
            input_dim = hidden
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)


def orthogonal_init():
    return lambda x: torch.nn.init.orthogonal_(x, gain=1.0)


class TanhMultivariateNormalDiag(TransformedDistribution):
    def __init__(self, loc, scale_diag):
        base_dist = MultivariateNormal(loc, torch.diag_embed(scale_diag))
        super().__init__(base_dist, [TanhTransform(cache_size=1)])

    def mode(self):
        x = self.base_dist.mode
        for transform in self.transforms:
            x = transform(x)
        return x


class Policy(nn.Module):
    def __init__(self, obs_dim, action_dim, hidden_dims, std_min=-5, std_max=2, init_final=0.05):
        super().__init__()
        self.network = MLP(obs_dim, hidden_dims, activate_final=True)
        self.std_min = std_min
        self.std_max = std_max
        out_features = hidden_dims[-1]

        self.mean_layer = nn.Linear(out_features, action_dim)
        if init_final is not None:
            nn.init.uniform_(self.mean_layer.weight, -init_final, init_final)
            nn.init.uniform_(self.mean_layer.bias, -init_final, init_final)
        else:
            orthogonal_init()(self.mean_layer.weight)

        self.std_layer = nn.Linear(out_features, action_dim)
        orthogonal_init()(self.std_layer.weight)

    def distribution(self, observations):
        outputs = self.network(observations)
        means = self.mean_layer(outputs)
        log_std = self.std_layer(outputs)
        std = torch.exp(log_std)
        std = torch.clamp(std, self.std_min, self.std_max)  # here
        return TanhMultivariateNormalDiag(loc=means, scale_diag=std)

    def forward(self, observations, actions):
        dist = self.distribution(observations)
        actions = actions.clamp(-1 + 1e-4, 1 - 1e-4)
        return -dist.log_prob(actions).mean()

    @torch.no_grad()
    def act(self, observations):
        return self.distribution(observations).mode()


def make_demonstrations(n=64, seed=0):
    g = torch.Generator().manual_seed(seed)
    obs = torch.randn(n, 6, generator=g)
    reach = torch.tanh(0.8 * obs[:, :2] - 0.4 * obs[:, 2:4])
    grip = 0.9 * torch.sign(obs[:, 4:5])
    actions = torch.cat([reach, grip], dim=1)
    return obs, actions


def build():
    torch.manual_seed(0)
    return Policy(6, 3, [32, 32])


def example_inputs():
    return make_demonstrations(32)
