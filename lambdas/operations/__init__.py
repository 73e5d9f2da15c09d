"""Steps that several handlers share; they see AWS only through `lambdas.adapters.world`."""
