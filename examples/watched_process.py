"""
Watching a process
==================

``Monitor`` learns normal operation, keeps a stated rate of false alarms, and names the faulty sensor.
"""

import matplotlib.pyplot as plt
import numpy as np

from preimage import Monitor, plot

rng = np.random.default_rng(0)


def readings(n):
    """Six sensors of a process that moves along a curve."""
    load = rng.uniform(-1, 1, n)
    curve = np.column_stack([load, load**2, np.sin(3 * load), load**3, np.cos(2 * load), -load])
    return curve + 0.05 * rng.standard_normal(curve.shape)


normal, new = readings(600), readings(200)
new[120:, 2] += 1.0  # the third sensor drifts away

# %%
# ``Monitor`` chooses the kernel, its length scale and the number of components on normal rows.

monitor = Monitor(alpha=0.01, random_state=0).fit(normal)
alarms = monitor.predict(new) == -1
print(f"alarms before the fault {alarms[:120].mean():.1%} (stated 1 %), after it {alarms[120:].mean():.1%}")

axes = plot.chart(monitor, new)
plt.show()

# %%
# Which sensor is faulty, and what should it read?

first = 120 + int(np.flatnonzero(alarms[120:])[0])
report = monitor.diagnose(new, rows=[first])
print(f"row {first}: {report['column'][0]} reads {report['reading'][0]:.2f}, expected {report['expected'][0]:.2f}")
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
plot.contributions(monitor, new, first, ax)
plt.show()
