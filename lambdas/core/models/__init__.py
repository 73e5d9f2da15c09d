"""Times of transfers by the equations of the papers."""
