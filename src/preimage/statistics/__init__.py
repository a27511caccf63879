"""What data say about themselves: noise level, risk without clean data, the number of components above chance."""
