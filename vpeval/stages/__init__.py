"""The stages of run.sh: each goes over its part of the plan in one process, and makes what is not up to date.

Modules that compute are imported where there is something to compute: looking whether there is takes a moment.
"""
