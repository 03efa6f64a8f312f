"""Errors that are written for people: what was wrong, where, and what to do."""


class InfonceError(Exception):
    """Base of every error that the command line prints without a traceback."""


class ConfigError(InfonceError):
    """A configuration was refused; the message names file, key and value."""


class DataError(InfonceError):
    """A data set is missing, incomplete or not what its manifest says."""


class RecordError(InfonceError):
    """A result file is cut, empty, foreign, or of another schema version."""


class DeviceError(InfonceError):
    """The device that was asked for is not there."""


class ClusterError(InfonceError):
    """A command of the cluster is missing, refuses or does not answer."""
