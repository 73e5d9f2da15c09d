"""What is borne where AWS does not do as it is asked, and the log that says so."""

from aws_lambda_powertools import Logger
from botocore.exceptions import BotoCoreError, ClientError

AWS_ERRORS = (BotoCoreError, ClientError)
"""Every call of AWS that is not answered as it should be raises one of these, but for what an adapter names."""

logger = Logger()
