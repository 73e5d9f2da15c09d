"""Faults and delays that tests ask for."""
