"""
A support vector machine with a tenth of its vectors
====================================================

A reduced set replaces an expansion over many points by one over a few points. This makes kernel PCA and scikit-learn's
kernel machines faster.
"""

# %%
# Kernel PCA of 800 digits, compressed to 80 points.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from preimage import KernelPCA
from preimage.datasets import load_digits
from preimage.reduced import machines

digits = load_digits()
order = np.random.default_rng(0).permutation(len(digits.y))
X, y = digits.X[order], digits.y[order]
train, test, truth = X[:800], X[800:1400], y[800:1400]

kpca = KernelPCA(16).fit(train)
small = kpca.compress(80)
codes, fast = kpca.transform(test), small.transform(test)
error = np.linalg.norm(fast - codes) / np.linalg.norm(codes)
print(f"kernel PCA: {len(train)} points to {len(small.decomposition_.points)}, error of codes {error:.1%}")

# %%
# A support vector classifier, compressed to a tenth of its support vectors.

svc = SVC(C=10, gamma=0.05).fit(train, y[:800])
machine = machines.from_sklearn(svc)
few = machine.compress(len(svc.support_) // 10)
print(f"SVC: {len(svc.support_)} support vectors, accuracy {svc.score(test, truth):.1%}")
print(f"compressed: {len(svc.support_) // 10} points, accuracy {np.mean(few.predict(test) == truth):.1%}")

# %%
# Accuracy against the number of points.

sizes = [5, 10, 20, 37, 75, 150]
accuracy = [100 * np.mean(machine.compress(size).predict(test) == truth) for size in sizes]
figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.semilogx(sizes, accuracy, "o-", label="compressed")
ax.axhline(100 * svc.score(test, truth), color="grey", linestyle="--", label=f"{len(svc.support_)} support vectors")
ax.set(xlabel="points", ylabel="accuracy, %")
ax.legend()
plt.show()
