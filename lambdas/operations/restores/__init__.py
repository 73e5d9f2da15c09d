"""Archived objects are listed, restored and waited for."""
