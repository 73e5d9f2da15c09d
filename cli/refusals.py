"""Advice for a person whose call AWS refused, or did not answer."""

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    PartialCredentialsError,
)

_SIGN_IN = "sign in again, e.g. with aws sso login"
_DEPLOYMENT = "look at the region and name of the deployment (docs/install.md), and at the account, or deploy first"
_BY_CODE = {
    "AccessDenied": "ask whoever keeps the account for that permission; docs/use.md lists what each command needs",
    "AccessDeniedException": "ask whoever keeps the account for that permission; docs/use.md lists what each command "
    "needs",
    "ExpiredToken": _SIGN_IN,
    "ExpiredTokenException": _SIGN_IN,
    "InvalidClientTokenId": "these credentials are of no account; look at AWS_PROFILE and the other AWS_… variables",
    "UnrecognizedClientException": "these credentials are of no account; look at AWS_PROFILE and the other AWS_… "
    "variables",
    "StateMachineDoesNotExist": _DEPLOYMENT,
    "ResourceNotFoundException": _DEPLOYMENT,
}


def in_words(error: BotoCoreError | ClientError) -> str:
    """Return what happened, and what to do where that is known."""
    if isinstance(error, ClientError):
        code = str(error.response["Error"]["Code"])
        advice = _BY_CODE.get(code)
        said = f"AWS refused {error.operation_name}: {code}: {error.response['Error'].get('Message', '')}"
        return f"{said}\n{advice[0].upper()}{advice[1:]}." if advice else said
    if isinstance(error, NoCredentialsError | PartialCredentialsError):
        return f"{error}: give credentials as for the AWS command line, or --local for the local cloud"
    if isinstance(error, EndpointConnectionError):
        return f"{error}: look at the network, at AWS_ENDPOINT_URL, and at the region of the deployment"
    return str(error)
