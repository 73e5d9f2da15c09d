"""Where relays come from: each provider leases machines for slots of a stage (`lease`), and takes them back.

What it offers, and at what price, is the estimate's (`core.estimate.offers`, `core.estimate.lent`).
"""
