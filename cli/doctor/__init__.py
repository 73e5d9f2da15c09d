"""The checks of `cpt doctor`; none of them changes anything."""
