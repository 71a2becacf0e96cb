r"""GAN in about a hundred lines that learns the moments of a Gaussian.

Source: https://github.com/devnag/pytorch-generative-adversarial-networks/issues/14
Healthy: nothing is detached when the generator is trained; the gradients that land in the
    discriminator are cleared by D.zero_grad() before its next step and its optimizer is not asked.
    All errors settle near 0.693, which is the balance of the game.
"""
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

# Data params
data_mean = 4
data_stddev = 1.25

(name, preprocess, d_input_func) = ("Only 4 moments", lambda data: get_moments(data), lambda x: 4)
print("Using data [%s]" % (name))


def get_distribution_sampler(mu, sigma):
    return lambda n: torch.Tensor(np.random.normal(mu, sigma, (1, n)))


def get_generator_input_sampler():
    return lambda m, n: torch.randn(m, n)


class Generator(nn.Module):
    def __init__(self, input_size, hidden_size, output_size, f):
        super(Generator, self).__init__()
        self.map1 = nn.Linear(input_size, hidden_size)
        self.map2 = nn.Linear(hidden_size, hidden_size)
        self.map3 = nn.Linear(hidden_size, output_size)
        self.f = f

    def forward(self, x):
        x = self.map1(x)
        x = self.f(x)
        x = self.map2(x)
        x = self.f(x)
        x = self.map3(x)
        return x


class Discriminator(nn.Module):
    def __init__(self, input_size, hidden_size, output_size, f):
        super(Discriminator, self).__init__()
        self.map1 = nn.Linear(input_size, hidden_size)
        self.map2 = nn.Linear(hidden_size, hidden_size)
        self.map3 = nn.Linear(hidden_size, output_size)
        self.f = f

    def forward(self, x):
        x = self.f(self.map1(x))
        x = self.f(self.map2(x))
        return self.f(self.map3(x))


def extract(v):
    return v.data.view(-1).tolist()


def stats(d):
    return [np.mean(d), np.std(d)]


def get_moments(d):
    # Return the first 4 moments of the data provided
    mean = torch.mean(d)
    diffs = d - mean
    var = torch.mean(torch.pow(diffs, 2.0))
    std = torch.pow(var, 0.5)
    zscores = diffs / std
    skews = torch.mean(torch.pow(zscores, 3.0))
    kurtoses = torch.mean(torch.pow(zscores, 4.0)) - 3.0
    final = torch.cat((mean.reshape(1,), std.reshape(1,), skews.reshape(1,),
                       kurtoses.reshape(1,)))
    return final


def train():
    # Model parameters
    g_input_size = 1
    g_hidden_size = 16
    g_output_size = 1
    d_input_size = 500
    d_hidden_size = 10
    d_output_size = 1
    minibatch_size = d_input_size

    d_learning_rate = 2e-2
    g_learning_rate = 5e-3
    sgd_momentum = 0.9
    betas = (0.5, 0.9)

    num_epochs = 800
    print_interval = 100
    d_steps = 2
    g_steps = 2

    discriminator_activation_function = torch.sigmoid
    generator_activation_function = torch.tanh

    d_sampler = get_distribution_sampler(data_mean, data_stddev)
    gi_sampler = get_generator_input_sampler()
    G = Generator(input_size=g_input_size, hidden_size=g_hidden_size, output_size=g_output_size,
                  f=generator_activation_function)
    D = Discriminator(input_size=d_input_func(d_input_size), hidden_size=d_hidden_size,
                      output_size=d_output_size, f=discriminator_activation_function)
    criterion = nn.BCELoss()
    d_optimizer = optim.SGD(D.parameters(), lr=d_learning_rate, momentum=sgd_momentum)
    g_optimizer = optim.Adam(G.parameters(), lr=g_learning_rate, betas=betas)

    for epoch in range(num_epochs):
        for d_index in range(d_steps):
            # 1. Train D on real+fake
            D.zero_grad()

            #  1A: Train D on real
            d_real_data = d_sampler(d_input_size)
            d_real_decision = D(preprocess(d_real_data))
            d_real_error = criterion(d_real_decision, torch.ones([1]))
            d_real_error.backward()

            #  1B: Train D on fake
            d_gen_input = gi_sampler(minibatch_size, g_input_size)
            d_fake_data = G(d_gen_input).detach()
            d_fake_decision = D(preprocess(d_fake_data.t()))
            d_fake_error = criterion(d_fake_decision, torch.zeros([1]))
            d_fake_error.backward()
            d_optimizer.step()

            dre, dfe = extract(d_real_error)[0], extract(d_fake_error)[0]

        for g_index in range(g_steps):
            # 2. Train G on D's response (but DO NOT train D on these labels)
            G.zero_grad()

            gen_input = gi_sampler(minibatch_size, g_input_size)
            g_fake_data = G(gen_input)
            dg_fake_decision = D(preprocess(g_fake_data.t()))
            g_error = criterion(dg_fake_decision, torch.ones([1]))

            g_error.backward()
            g_optimizer.step()
            ge = extract(g_error)[0]

        if epoch % print_interval == 0 or epoch == num_epochs - 1:
            print("Epoch %s: D (%.3f real_err, %.3f fake_err) G (%.3f err); "
                  "Real Dist (%s),  Fake Dist (%s) " %
                  (epoch, dre, dfe, ge,
                   ['%.2f' % v for v in stats(extract(d_real_data))],
                   ['%.2f' % v for v in stats(extract(d_fake_data))]))


np.random.seed(2)
torch.manual_seed(2)
train()
