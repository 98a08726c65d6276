"""Declarative deployment and launch config generator for SGLang on bare machines."""

__version__ = "0.1.0"
