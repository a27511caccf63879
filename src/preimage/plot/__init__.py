"""Pictures with matplotlib, which is imported when one is drawn.

Every function draws on the given axes, or on those of a new figure, and returns them. Colour-blind people can tell the
colours apart (Okabe & Ito 2008; cividis, PuOr), and markers and line styles repeat what colours show.
"""

from preimage.plot.charts import chart, contributions
from preimage.plot.curves import convergence, reduced_set_errors, scree, selection
from preimage.plot.grids import eigenvectors, images, signals
from preimage.plot.planes import codes, components
from preimage.plot.traversal import traverse

__all__ = [
    "chart",
    "codes",
    "components",
    "contributions",
    "convergence",
    "eigenvectors",
    "images",
    "reduced_set_errors",
    "scree",
    "selection",
    "signals",
    "traverse",
]
