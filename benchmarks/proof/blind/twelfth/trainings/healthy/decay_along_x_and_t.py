r"""Physics-informed net for du/dx = 2 du/dt + u with a given start, trained with Adam.

Source: https://github.com/nanditadoloi/PINN/issues/3
Healthy: the derivatives are taken of u.sum(); each output depends on its own row only, so this is
    the same as grad_outputs of ones and the residual is that of each point.
"""
import numpy as np
import torch
import torch.nn as nn
from torch.autograd import Variable

np.random.seed(0)
torch.manual_seed(0)

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.hidden_layer1 = nn.Linear(2, 12)
        self.hidden_layer2 = nn.Linear(12, 12)
        self.hidden_layer3 = nn.Linear(12, 12)
        self.output_layer = nn.Linear(12, 1)

    def forward(self, x, t):
        inputs = torch.cat([x, t], axis=1)
        layer1_out = torch.tanh(self.hidden_layer1(inputs))
        layer2_out = torch.tanh(self.hidden_layer2(layer1_out))
        layer3_out = torch.tanh(self.hidden_layer3(layer2_out))
        output = self.output_layer(layer3_out)  # regression, no activation
        return output


### (2) Model
net = Net()
net = net.to(device)
mse_cost_function = torch.nn.MSELoss()  # mean squared error
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)


## PDE as loss function, the right solution is 6 exp(-3x - 2t)
def f(x, t, net):
    u = net(x, t)
    u_x = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
    u_t = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
    pde = u_x - 2 * u_t - u
    return pde


## Data from boundary conditions: u(x, 0) = 6 exp(-3x)
x_bc = np.random.uniform(low=0.0, high=2.0, size=(300, 1))
t_bc = np.zeros((300, 1))
u_bc = 6 * np.exp(-3 * x_bc)

### (3) Training / Fitting
iterations = 1500
for epoch in range(iterations):
    optimizer.zero_grad()  # to make the gradients zero

    # Loss based on boundary conditions
    pt_x_bc = Variable(torch.from_numpy(x_bc).float(), requires_grad=False).to(device)
    pt_t_bc = Variable(torch.from_numpy(t_bc).float(), requires_grad=False).to(device)
    pt_u_bc = Variable(torch.from_numpy(u_bc).float(), requires_grad=False).to(device)

    net_bc_out = net(pt_x_bc, pt_t_bc)
    mse_u = mse_cost_function(net_bc_out, pt_u_bc)

    # Loss based on PDE
    x_collocation = np.random.uniform(low=0.0, high=2.0, size=(300, 1))
    t_collocation = np.random.uniform(low=0.0, high=1.0, size=(300, 1))
    all_zeros = np.zeros((300, 1))

    pt_x_collocation = Variable(torch.from_numpy(x_collocation).float(), requires_grad=True)
    pt_t_collocation = Variable(torch.from_numpy(t_collocation).float(), requires_grad=True)
    pt_all_zeros = Variable(torch.from_numpy(all_zeros).float(), requires_grad=False)

    f_out = f(pt_x_collocation.to(device), pt_t_collocation.to(device), net)
    mse_f = mse_cost_function(f_out, pt_all_zeros.to(device))

    # Combining the loss functions
    loss = mse_u + mse_f

    loss.backward()
    optimizer.step()

    if epoch % 300 == 299:
        print(epoch, "Traning Loss:", loss.item())

with torch.no_grad():
    x = torch.linspace(0, 2, 40)
    t = torch.linspace(0, 1, 40)
    ms_x, ms_t = torch.meshgrid(x, t, indexing="ij")
    pred = net(ms_x.reshape(-1, 1), ms_t.reshape(-1, 1)).view(40, 40)
    true = 6 * torch.exp(-3 * ms_x - 2 * ms_t)
    print("relative error: %.4f" % (torch.norm(pred - true) / torch.norm(true)))
