"""A kernel PCA over 800 points is compressed to 80, and a support vector machine to a tenth of its vectors.

python examples/fewer_points.py
"""

import numpy as np
from sklearn.svm import SVC

from preimage import KernelPCA
from preimage.datasets import load_digits
from preimage.reduced import machines


def main():
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.y))
    X, y = digits.X[order], digits.y[order]
    train, test = X[:800], X[800:1400]

    kpca = KernelPCA(16).fit(train)
    small = kpca.compress(80)
    codes, fast = kpca.transform(test), small.transform(test)
    error = np.linalg.norm(fast - codes) / np.linalg.norm(codes)
    n_points = len(small.decomposition_.points)
    print(f"kernel PCA: {len(train)} points to {n_points}, error of codes {error:.1%}")

    svc = SVC(C=10, gamma=0.05).fit(train, y[:800])
    few = machines.from_sklearn(svc).compress(len(svc.support_) // 10)
    print(f"SVC: {len(svc.support_)} support vectors, accuracy {svc.score(test, y[800:1400]):.1%}")
    print(f"compressed: {len(svc.support_) // 10} points, accuracy {np.mean(few.predict(test) == y[800:1400]):.1%}")


if __name__ == "__main__":
    main()
