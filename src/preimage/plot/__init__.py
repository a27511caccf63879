"""Pictures with matplotlib, which is imported when one is drawn.

Every function draws on the axes given, or on those of a new figure, and returns them.
Colours are those that colour-blind people can tell apart (Okabe & Ito 2008; cividis, PuOr), and markers and line
styles repeat what they show.
"""

from preimage.plot.charts import chart, contributions
from preimage.plot.curves import convergence, reduced_set_errors, scree, selection
from preimage.plot.grids import eigenvectors, images, signals
from preimage.plot.planes import codes, components

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
]
