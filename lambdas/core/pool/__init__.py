"""A standing pool of relays that many tenants share: who gets which rate, on which nodes, when and at which price."""
