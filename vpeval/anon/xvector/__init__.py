"""Baseline B1: anonymisation with x-vectors, in three parts (VPC 2020 plan, section 6.1).

`features` extracts content, F0 and speaker vector; `pool` makes a pseudo-speaker from the vectors of other people;
`cpu` and `full` are two kinds of synthesis; `system` joins the parts, and `learn` prepares it.
"""
