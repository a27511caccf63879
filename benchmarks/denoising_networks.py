"""Networks for the table of denoisers, trained for a stated number of CPU seconds; they need torch.

With clean rows the loss is the squared error on rows that are corrupted anew in every batch; with noisy rows only it
is Stein's estimate of that error. The state with the least error on validation rows is kept.
"""

import copy
import time

import numpy as np

WIDTHS = (32, 64, 128)  # channels of the U-Net, from the finest to the coarsest grid
HIDDEN = 1024  # units of each of the two hidden layers of the MLP
BATCH, RATE, LOOKS, PROBE = 64, 2e-3, 12, 0.1


def mlp(task, seconds):
    """A perceptron with two hidden layers."""
    from torch import nn

    d = task.train.shape[1]
    layers = [nn.Linear(d, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, d)]
    return _trained(nn.Sequential(*layers), task, seconds, (d,))


def u_net(task, seconds):
    """Convolutions on three grids, with what each found handed across."""
    return _trained(_u_net(len(task.shape)), task, seconds, (1, *task.shape))


def _u_net(n_axes):
    import torch
    from torch import nn

    conv, pool = (nn.Conv1d, nn.MaxPool1d) if n_axes == 1 else (nn.Conv2d, nn.MaxPool2d)

    def block(n_in, n_out):
        return nn.Sequential(conv(n_in, n_out, 3, padding=1), nn.ReLU(), conv(n_out, n_out, 3, padding=1), nn.ReLU())

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            fine, middle, coarse = WIDTHS
            self.down = nn.ModuleList([block(1, fine), block(fine, middle), block(middle, coarse)])
            self.up = nn.ModuleList([block(coarse + middle, middle), block(middle + fine, fine)])
            self.last, self.pool, self.grow = conv(fine, 1, 1), pool(2), nn.Upsample(scale_factor=2)

        def forward(self, images):
            fine = self.down[0](images)
            middle = self.down[1](self.pool(fine))
            found = self.down[2](self.pool(middle))
            for block, before in zip(self.up, (middle, fine), strict=True):
                found = block(torch.cat([self.grow(found), before], 1))
            return images + self.last(found)

    return UNet()


def _trained(network, task, seconds, shape):
    """The network after so many seconds of CPU time, as a function from rows to rows."""
    import torch

    torch.manual_seed(0)
    rng, rows = np.random.default_rng(0), task.training
    offset, scale = float(rows.mean()), float(rows.std())
    steps = torch.optim.Adam(network.parameters(), lr=RATE)
    start, best, kept, looks = time.process_time(), np.inf, None, 0

    def inside(values):
        return torch.from_numpy(((values - offset) / scale).astype(np.float32)).reshape(-1, *shape)

    def denoise(values):
        with torch.no_grad():
            found = [network(inside(part)).reshape(len(part), -1).numpy() for part in _parts(values, 500)]
        return offset + scale * np.concatenate(found)

    while (spent := (time.process_time() - start) / seconds) < 1:
        steps.param_groups[0]["lr"] = RATE * 0.5 * (1 + np.cos(np.pi * spent))
        batch = rows[rng.integers(len(rows), size=BATCH)]
        loss = (
            _stein(network, inside(batch), task.noise.sigma / scale)
            if task.blind
            else (torch.mean((network(inside(task.noise(batch, rng))) - inside(batch)) ** 2))
        )
        steps.zero_grad()
        loss.backward()
        steps.step()
        if spent * LOOKS > looks + 1:
            looks, error = looks + 1, task.risk(denoise)
            if error < best:
                best, kept = error, copy.deepcopy(network.state_dict())
    if kept is not None and best < task.risk(denoise):
        network.load_state_dict(kept)
    return denoise


def _stein(network, noisy, sigma):
    """Stein's estimate of the error, with one probe."""
    import torch

    probe = torch.randint(0, 2, noisy.shape) * 2.0 - 1
    step = PROBE * sigma
    still = network(noisy)
    divergence = torch.mean(probe * (network(noisy + step * probe) - still)) / step
    return torch.mean((still - noisy) ** 2) + 2 * sigma**2 * divergence


def _parts(rows, size):
    return [rows[start : start + size] for start in range(0, len(rows), size)]
