"""Importers and exporters, one module a format. They turn text into values and values into text, and store nothing."""
