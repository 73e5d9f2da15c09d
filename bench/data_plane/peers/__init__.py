"""The programs we compare with, each at its best documented settings."""
