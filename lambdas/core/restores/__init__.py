"""Archived objects that S3 restores before they are moved."""
