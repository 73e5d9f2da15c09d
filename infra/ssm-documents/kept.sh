# shellcheck shell=sh
# Prints what a receiver needs for what its command $1 asks to be kept. Within the JSON's own texts each quote has a backslash
# before it, so none of them can pass for a key.
kept_capabilities() {
  case "$1" in *'"owners":"'*) printf ' CAP_CHOWN CAP_FSETID' ;; esac
  case "$1" in *'"xattrs":true'*) printf ' CAP_SETFCAP' ;; esac
  case "$1" in *'"specialFiles":true'*) printf ' CAP_MKNOD' ;; esac
}

# Prints the properties of a receiver with command $1 that depend on what is kept.
properties_for_kept() {
  kept="$(kept_capabilities "$1")"
  echo "CapabilityBoundingSet=CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER CAP_SETUID CAP_SETGID$kept"
  # With owners the bits that stand for them arrive too.
  case "$kept" in *CAP_FSETID*) echo RestrictSUIDSGID=no ;; esac
}
