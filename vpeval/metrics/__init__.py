"""Metrics: arrays in, frozen dataclass out. Pure numpy and scipy; no files, no printing."""
