"""Faults under `papertrain launch --supervise`."""

SUPERVISED = {}
