"""Tokens for AWS MSK, made by AWS's own signer with whatever credentials botocore finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aws_msk_iam_sasl_signer import MSKAuthTokenProvider
from botocore.credentials import CredentialProvider, Credentials
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import Session

from warren.kafka.iam import AwsLoginError

# names the role's sessions in AWS's logs, as Burrow does
SESSION_NAME: Final = "burrow-session"


def signed(region: str, role_arn: str, profile: str) -> tuple[str, float]:
    """A token and the time (s) until which it holds."""
    try:
        token, until_ms = MSKAuthTokenProvider.generate_auth_token_from_credentials_provider(
            region, _Provider(region, role_arn, profile)
        )
    except (BotoCoreError, ClientError) as error:
        wanted = f"the role {role_arn}" if role_arn else "credentials"
        raise AwsLoginError(
            f"AWS did not give out {wanted} ({error}); correct [iam.N], or what these credentials may do"
        ) from None
    return token, until_ms / 1000


@dataclass
class _Provider(CredentialProvider):  # type: ignore[misc] # botocore has no types
    """botocore's own search, with a profile where one is named, and then the role where one is."""

    region: str
    role_arn: str
    profile: str

    def load(self) -> Credentials:
        session = Session(profile=self.profile or None)
        found = session.get_credentials()
        if found is None:
            where = f"the profile {self.profile} has none" if self.profile else "there are none here"
            raise AwsLoginError(
                f"No AWS credentials: {where}; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
                "name a profile in [iam.N], or run where there is an instance role or IRSA"
            )
        if not self.role_arn:
            return found
        client = session.create_client("sts", region_name=self.region)
        role = client.assume_role(RoleArn=self.role_arn, RoleSessionName=SESSION_NAME)["Credentials"]
        return Credentials(role["AccessKeyId"], role["SecretAccessKey"], role["SessionToken"])
