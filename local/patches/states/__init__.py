"""Step Functions: JSONata, callbacks, clients."""
