r"""Tiny radiance field of coloured blobs in the plane, rendered along rays, coarse and fine.

Source: https://github.com/krrish94/nerf-pytorch/pull/23
Healthy: train() and eval() are called for the coarse net only; neither net has dropout or batch
    norm, so the mode of the fine net makes no difference.
"""
import math

import torch
import torch.nn as nn

torch.manual_seed(9458)
NEAR, FAR = 0.5, 4.5
BLOBS = [((0.0, 0.3), 0.45, (1.0, 0.2, 0.1)), ((-0.7, -0.4), 0.3, (0.1, 0.8, 0.2)),
         ((0.6, -0.6), 0.35, (0.2, 0.3, 1.0))]


def true_field(pts):
    density = torch.zeros(pts.shape[:-1])
    color = torch.zeros(*pts.shape[:-1], 3)
    for (cx, cy), r, rgb in BLOBS:
        d = ((pts[..., 0] - cx) ** 2 + (pts[..., 1] - cy) ** 2).sqrt()
        s = torch.sigmoid((r - d) * 20) * 12
        density = density + s
        color = color + s[..., None] * torch.tensor(rgb)
    return density, color / (density[..., None] + 1e-6)


def get_rays(angle, n=24):
    origin = torch.tensor([2.5 * math.cos(angle), 2.5 * math.sin(angle)])
    base = math.atan2(-origin[1].item(), -origin[0].item())
    a = base + torch.linspace(-0.5, 0.5, n)
    return origin.expand(n, 2), torch.stack([a.cos(), a.sin()], dim=-1)


def volume_render(density, color, z):
    dists = torch.cat([z[..., 1:] - z[..., :-1], torch.full_like(z[..., :1], 1e10)], -1)
    alpha = 1.0 - torch.exp(-density * dists)
    trans = torch.cumprod(torch.cat([torch.ones_like(alpha[..., :1]), 1 - alpha + 1e-10], -1), -1)
    weights = alpha * trans[..., :-1]
    return (weights[..., None] * color).sum(-2), weights


def positional_encoding(x, num=5):
    out = [x]
    for i in range(num):
        out += [torch.sin(2.0 ** i * x), torch.cos(2.0 ** i * x)]
    return torch.cat(out, dim=-1)


class VeryTinyNeRFModel(nn.Module):
    def __init__(self, filter_size=64, num_encoding_functions=5):
        super(VeryTinyNeRFModel, self).__init__()
        self.layer1 = nn.Linear(2 + 2 * 2 * num_encoding_functions, filter_size)
        self.layer2 = nn.Linear(filter_size, filter_size)
        self.layer3 = nn.Linear(filter_size, 4)
        self.relu = nn.functional.relu

    def forward(self, pts):
        x = positional_encoding(pts)
        x = self.relu(self.layer1(x))
        x = self.relu(self.layer2(x))
        x = self.layer3(x)
        return self.relu(x[..., 3]), torch.sigmoid(x[..., :3])


def sample_pdf(bins, weights, num_samples):
    weights = weights + 1e-5
    pdf = weights / weights.sum(-1, keepdim=True)
    cdf = torch.cumsum(pdf, -1)
    cdf = torch.cat([torch.zeros_like(cdf[..., :1]), cdf], -1)
    u = torch.rand(*cdf.shape[:-1], num_samples)
    inds = torch.searchsorted(cdf.contiguous(), u.contiguous(), right=True)
    below = (inds - 1).clamp(min=0)
    above = inds.clamp(max=cdf.shape[-1] - 1)
    c0, c1 = cdf.gather(-1, below), cdf.gather(-1, above)
    b0, b1 = bins.gather(-1, below), bins.gather(-1, above)
    denom = torch.where(c1 - c0 < 1e-5, torch.ones_like(c0), c1 - c0)
    return b0 + (u - c0) / denom * (b1 - b0)


def run_one_iter_of_nerf(origins, dirs, model_coarse, model_fine, n_coarse=20, n_fine=20):
    z = torch.linspace(NEAR, FAR, n_coarse).expand(len(origins), n_coarse)
    z = z + torch.rand_like(z) * (FAR - NEAR) / n_coarse
    pts = origins[:, None] + dirs[:, None] * z[..., None]
    rgb_coarse, weights = volume_render(*model_coarse(pts), z)
    z_mid = 0.5 * (z[..., 1:] + z[..., :-1])
    z_fine = sample_pdf(z_mid, weights[..., 1:-1], n_fine).detach()
    z_all, _ = torch.sort(torch.cat((z, z_fine), dim=-1), dim=-1)
    pts = origins[:, None] + dirs[:, None] * z_all[..., None]
    rgb_fine, _ = volume_render(*model_fine(pts), z_all)
    return rgb_coarse, rgb_fine


def mse2psnr(mse):
    return -10.0 * math.log10(max(mse, 1e-5))


def make_views(angles):
    views = []
    for a in angles:
        o, d = get_rays(a)
        z = torch.linspace(NEAR, FAR, 400).expand(len(o), 400)
        rgb, _ = volume_render(*true_field(o[:, None] + d[:, None] * z[..., None]), z)
        views.append((o, d, rgb))
    return views


def main():
    train_views = make_views([i * 2 * math.pi / 30 for i in range(30)])
    test_views = make_views([0.37 + i * 2 * math.pi / 5 for i in range(5)])
    origins, dirs, target = [torch.cat(t) for t in zip(*train_views)]
    model_coarse = VeryTinyNeRFModel()
    model_fine = VeryTinyNeRFModel()
    trainable_parameters = list(model_coarse.parameters()) + list(model_fine.parameters())
    optimizer = torch.optim.Adam(trainable_parameters, lr=5e-3)

    num_iters, validate_every = 320, 80
    for i in range(num_iters):
        model_coarse.train()
        idx = torch.randint(0, len(target), (80,))
        rgb_coarse, rgb_fine = run_one_iter_of_nerf(origins[idx], dirs[idx], model_coarse,
                                                    model_fine)
        coarse_loss = nn.functional.mse_loss(rgb_coarse, target[idx])
        fine_loss = nn.functional.mse_loss(rgb_fine, target[idx])
        loss = coarse_loss + fine_loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

        lr_new = 5e-3 * (0.1 ** (i / num_iters))
        for param_group in optimizer.param_groups:
            param_group["lr"] = lr_new

        if i % validate_every == 0 or i == num_iters - 1:
            model_coarse.eval()
            with torch.no_grad():
                errs = []
                for o, d, rgb in test_views:
                    _, pred = run_one_iter_of_nerf(o, d, model_coarse, model_fine)
                    errs.append(nn.functional.mse_loss(pred, rgb).item())
            val = sum(errs) / len(errs)
            print("[TRAIN] Iter: %d Loss: %.5f PSNR: %.2f [VAL] loss %.5f PSNR %.2f" % (
                i, loss.item(), mse2psnr(fine_loss.item()), val, mse2psnr(val)))


if __name__ == "__main__":
    main()
