r"""Physics-informed network for the Helmholtz equation on the unit square.

Source: https://github.com/prateekbhustali/Physics-Informed-Neural-Networks/issues/4
Fault: the second derivatives are taken of the whole gradient vector at once, so autograd sums its
    components: column 0 is u_xx + u_xy and not u_xx, likewise column 1; the mixed derivatives get
    into the Laplacian and the solution is wrong although the loss falls.
Cause: (mixed|cross).{0,30}(derivative|partial|term|second)|u_?xy|u_?yx|(second|2nd
    |higher).{0,30}(derivative|order|grad).{0,140}(sum|mix|vector|component|column|separate|each
    |whole|wrong|jacobian|both)|(sum\w*|mix\w*|add\w*).{0,80}(components?|columns?|partial
    |derivatives?).{0,80}(grad|second|laplac)|(grad_outputs|ones_like|autograd\.grad
    |laplac\w*).{0,120}(components?|columns?|sum|mix|all)
Place: u_x_y|u_xx_yy|loss_PDE|grad_outputs|autograd|u_xx|laplac\w*
"""
import math
import time

import numpy as np
import torch
import torch.autograd as autograd
import torch.nn as nn

torch.manual_seed(1234)
np.random.seed(1234)

a_1, a_2, k = 1, 1, 1
steps = 900
N_u = 120
N_f = 300


def exact(X):
    # tilted waves on the plate
    return torch.sin(math.pi * (X[:, [0]] + X[:, [1]])) * torch.cos(
        0.5 * math.pi * (X[:, [0]] - X[:, [1]]))


def source_term(X):
    # u_xx + u_yy + k^2 u for the solution above
    return (-2 * math.pi ** 2 - 0.5 * math.pi ** 2 + k ** 2) * exact(X)


def trainingdata(N_u, N_f):
    s = torch.rand(N_u, 1)
    side = torch.randint(0, 4, (N_u, 1))
    x = torch.where(side == 0, torch.zeros_like(s), torch.where(side == 1, torch.ones_like(s), s))
    y = torch.where(side == 2, torch.zeros_like(s), torch.where(side == 3, torch.ones_like(s), s))
    X_u = torch.cat([x, y], dim=1)
    X_f = torch.cat([torch.rand(N_f, 2), X_u], dim=0)
    return X_f, X_u, exact(X_u)


class Sequentialmodel(nn.Module):

    def __init__(self, layers):
        super().__init__()
        self.activation = nn.Tanh()
        self.loss_function = nn.MSELoss(reduction="mean")
        self.linears = nn.ModuleList(
            [nn.Linear(layers[i], layers[i + 1]) for i in range(len(layers) - 1)])
        self.iter = 0
        for i in range(len(layers) - 1):
            nn.init.xavier_normal_(self.linears[i].weight.data, gain=1.0)
            nn.init.zeros_(self.linears[i].bias.data)

    def forward(self, x):
        a = 2 * x - 1
        for i in range(len(self.linears) - 1):
            a = self.activation(self.linears[i](a))
        return self.linears[-1](a)

    def loss_BC(self, x, y):
        return self.loss_function(self.forward(x), y)

    def loss_PDE(self, x_to_train_f):
        g = x_to_train_f.clone()
        g.requires_grad = True
        u = self.forward(g)
        u_x_y = autograd.grad(u, g, torch.ones([g.shape[0], 1]),
                              retain_graph=True, create_graph=True)[0]
        u_xx_yy = autograd.grad(u_x_y, g, torch.ones(g.shape), create_graph=True)[0]  # here
        u_xx = u_xx_yy[:, [0]]
        u_yy = u_xx_yy[:, [1]]
        f = u_xx + u_yy + k ** 2 * u - source_term(x_to_train_f)
        return self.loss_function(f, torch.zeros_like(f))

    def loss(self, x, y, x_to_train_f):
        loss_u = self.loss_BC(x, y)
        loss_f = self.loss_PDE(x_to_train_f)
        return 100 * loss_u + loss_f

    def test(self):
        line = torch.linspace(0, 1, 31)
        X = torch.stack(torch.meshgrid(line, line, indexing="ij"), dim=-1).reshape(-1, 2)
        with torch.no_grad():
            u_pred, u = self.forward(X), exact(X)
        return (torch.linalg.norm(u - u_pred) / torch.linalg.norm(u)).item()


if __name__ == "__main__":
    X_f_train, X_u_train, u_train = trainingdata(N_u, N_f)
    layers = np.array([2, 32, 32, 1])
    PINN = Sequentialmodel(layers)
    optimizer = torch.optim.Adam(PINN.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.997)
    start_time = time.time()
    for i in range(steps):
        optimizer.zero_grad()
        loss = PINN.loss(X_u_train, u_train, X_f_train)
        loss.backward()
        optimizer.step()
        scheduler.step()
        if i % 150 == 149:
            print("step %d loss %.5f relative error %.4f" % (i + 1, loss.item(), PINN.test()))
    print("Test Error: %.5f" % PINN.test())
