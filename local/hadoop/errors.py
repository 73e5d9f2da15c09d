"""What can be wrong with a Hadoop of this machine."""


class HadoopMissingError(Exception):
    """Hadoop cannot be had on this machine; the message says what to install."""


class HadoopError(Exception):
    """A daemon or a command of Hadoop failed; the message has the end of what it said."""
