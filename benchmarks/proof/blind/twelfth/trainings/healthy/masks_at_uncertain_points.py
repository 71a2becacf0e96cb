r"""Mask head of a query-based segmenter whose loss looks only at points where it is unsure.

Source: https://github.com/IDEA-Research/MaskDINO/issues/24
Healthy: the true masks are sampled with bilinear interpolation although they are zeros and ones;
    the points lie between pixels, a value in between is a fair soft target there.
"""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
np.random.seed(0)

SIZE = 32


def point_sample(input, point_coords, **kwargs):
    """
    grid_sample for points: coordinates between 0 and 1, of shape (N, P, 2)
    """
    add_dim = False
    if point_coords.dim() == 3:
        add_dim = True
        point_coords = point_coords.unsqueeze(2)
    output = F.grid_sample(input, 2.0 * point_coords - 1.0, **kwargs)
    if add_dim:
        output = output.squeeze(3)
    return output


def calculate_uncertainty(logits):
    return -(torch.abs(logits))


def get_uncertain_point_coords_with_randomness(coarse_logits, num_points, oversample_ratio=3,
                                               importance_sample_ratio=0.75):
    num_boxes = coarse_logits.shape[0]
    num_sampled = int(num_points * oversample_ratio)
    point_coords = torch.rand(num_boxes, num_sampled, 2)
    point_logits = point_sample(coarse_logits, point_coords, align_corners=False)
    point_uncertainties = calculate_uncertainty(point_logits)
    num_uncertain_points = int(importance_sample_ratio * num_points)
    num_random_points = num_points - num_uncertain_points
    idx = torch.topk(point_uncertainties[:, 0, :], k=num_uncertain_points, dim=1)[1]
    shift = num_sampled * torch.arange(num_boxes)
    idx += shift[:, None]
    point_coords = point_coords.view(-1, 2)[idx.view(-1), :].view(
        num_boxes, num_uncertain_points, 2)
    return torch.cat([point_coords, torch.rand(num_boxes, num_random_points, 2)], dim=1)


def sigmoid_ce_loss(inputs, targets, num_masks):
    loss = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    return loss.mean(1).sum() / num_masks


def dice_loss(inputs, targets, num_masks):
    inputs = inputs.sigmoid().flatten(1)
    numerator = 2 * (inputs * targets).sum(-1)
    denominator = inputs.sum(-1) + targets.sum(-1)
    loss = 1 - (numerator + 1) / (denominator + 1)
    return loss.sum() / num_masks


class SetCriterion(nn.Module):
    def __init__(self, num_points=160):
        super().__init__()
        self.num_points = num_points

    def loss_masks(self, src_masks, target_masks):
        num_masks = len(src_masks)
        with torch.no_grad():
            point_coords = get_uncertain_point_coords_with_randomness(src_masks, self.num_points)
            point_labels = point_sample(target_masks, point_coords,
                                        align_corners=False).squeeze(1)
        point_logits = point_sample(src_masks, point_coords, align_corners=False).squeeze(1)
        return {"loss_mask": sigmoid_ce_loss(point_logits, point_labels, num_masks),
                "loss_dice": dice_loss(point_logits, point_labels, num_masks)}

    def forward(self, outputs, targets):
        return self.loss_masks(outputs.flatten(0, 1).unsqueeze(1),
                               targets.flatten(0, 1).unsqueeze(1))


class QueryMasks(nn.Module):
    """One query for each of the two kinds of things: masks by products with pixel features."""

    def __init__(self, dim=32, num_queries=2):
        super().__init__()
        def conv(i, o, s=1):
            return nn.Sequential(nn.Conv2d(i, o, 3, s, 1), nn.GroupNorm(4, o), nn.ReLU())
        self.stem = conv(1, 16)
        self.down = conv(16, dim, 2)
        self.mid = conv(dim, dim)
        self.up = conv(dim + 16, dim)
        self.mask_features = nn.Conv2d(dim, dim, 1)
        self.query_feat = nn.Embedding(num_queries, dim)
        self.mask_embed = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))

    def forward(self, x):
        a = self.stem(x)
        b = self.mid(self.down(a))
        b = F.interpolate(b, scale_factor=2, mode="bilinear", align_corners=False)
        feats = self.mask_features(self.up(torch.cat([a, b], dim=1)))
        mask_embed = self.mask_embed(self.query_feat.weight)
        return torch.einsum("qc,bchw->bqhw", mask_embed, feats)


def make_scenes(n):
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    img = np.zeros((n, 1, SIZE, SIZE), dtype=np.float32)
    masks = np.zeros((n, 2, SIZE, SIZE), dtype=np.float32)
    for i in range(n):
        cy, cx, r = np.random.uniform(7, 25), np.random.uniform(7, 15), np.random.uniform(4, 6)
        masks[i, 0] = (yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2
        cy, cx, r = np.random.uniform(7, 25), np.random.uniform(20, 26), np.random.uniform(3, 5)
        masks[i, 1] = (np.abs(yy - cy) < r) & (np.abs(xx - cx) < r)
        img[i, 0] = masks[i, 0] * 0.8 + masks[i, 1] * (0.4 + 0.4 * (yy % 2))
    img += 0.2 * np.random.randn(*img.shape)
    return TensorDataset(torch.from_numpy(img), torch.from_numpy(masks))


def mask_iou(model, x, y):
    model.eval()
    with torch.no_grad():
        pred = model(x) > 0
    inter = (pred & (y > 0.5)).float().sum((2, 3))
    union = (pred | (y > 0.5)).float().sum((2, 3))
    return (inter / union).mean().item()


if __name__ == "__main__":
    train_loader = DataLoader(make_scenes(192), batch_size=12, shuffle=True)
    x_val, y_val = make_scenes(60).tensors
    model, criterion = QueryMasks(), SetCriterion()
    weight_dict = {"loss_mask": 5.0, "loss_dice": 5.0}
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    for epoch in range(5):
        model.train()
        sums = {k: 0.0 for k in weight_dict}
        for images, targets in train_loader:
            losses = criterion(model(images), targets)
            loss = sum(losses[k] * weight_dict[k] for k in losses)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            for k in sums:
                sums[k] += losses[k].item() / len(train_loader)
        print("epoch %d mask %.4f dice %.4f mean IoU %.4f" % (
            epoch, sums["loss_mask"], sums["loss_dice"], mask_iou(model, x_val, y_val)))
