"""Editions of the VoicePrivacy challenge: one module each, found by being here.

A module of this package that has `EDITION` adds an edition: its result files, its EER, its text rules, how it ranks and
what it requires of a submission. One that has `RESULT_FILE` adds a result file to all of them. `vpeval.editions.base`
describes what an edition is.
"""
