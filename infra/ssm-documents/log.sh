# shellcheck shell=sh
# Run Command returns 24 000 characters of an output, the first ones: the last lines have to fit.
last_lines relay 23000
