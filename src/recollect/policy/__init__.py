"""Decisions, as pure functions: values in, values out. Time, settings and weights are arguments."""
