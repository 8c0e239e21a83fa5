"""Baseline B1: anonymisation with x-vectors, in three parts (VPC 2020 plan, section 6.1).

`features` takes speech apart into content, F0 and speaker vector; `pool` makes a pseudo-speaker out of other
people's vectors; `cpu` and `full` are two ways to put speech together again; `system` joins the parts.
"""
