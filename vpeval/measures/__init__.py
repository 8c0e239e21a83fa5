"""Measures: one module each, from its metrics and options to the records of a run.

A module of this package that has `METRICS` describes metrics (`vpeval.records.metrics`), one that has `MEASURE` takes
part in the stages of a recipe (`vpeval.stages`), one that has `SCORER` can be called by itself (`local/score_*.py`).
Modules are found by being here. They import what computes their results and nothing that drives a run, as results
depend on everything that they import (`vpeval.jobs.code`).
"""
