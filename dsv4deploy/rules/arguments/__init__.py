"""Pairs of arguments that the resolver refuses, or that quietly do nothing."""
