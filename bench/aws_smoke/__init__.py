"""`make aws-smoke`: one transfer through a relay pair, proven and cleaned up. NEVER RUN ON AWS SO FAR."""
