"""Anonymisation: the driver of hooks, the checks on their output, and the algorithms of the shipped hooks."""
