"""Attention Drills: grades self-attention written from scratch in PyTorch."""

__version__ = "0.1.0"
