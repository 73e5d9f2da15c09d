"""The dissertation's figures from our models, and sample integration against its alternatives, as SVG."""
