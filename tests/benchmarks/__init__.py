"""Measurements. Each is a ratio or a size taken within one run, against a target; run them one at a time."""
