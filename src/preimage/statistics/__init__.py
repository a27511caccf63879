"""Estimates from noisy data alone: noise level, risk, and the number of components above chance."""
