"""The facts that the control plane must know of each kind of end of a transfer."""
