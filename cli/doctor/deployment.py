"""The check that the deployment is there, and what its functions know of it."""

from cli.aws import ANY_FUNCTION, Aws
from cli.doctor.answers import answer_of
from cli.doctor.finding import Finding, Findings, failed, looked, ok
from lambdas.adapters.environment import Environment, spread


class Deployment:
    """One deployment; `environment` is None until it was found."""

    def __init__(self, aws: Aws) -> None:
        self._aws = aws
        self.environment: Environment | None = None

    def found(self) -> Findings:
        """Return whether it is there; fills in `environment`."""
        yield from looked("deployment", self._aws.region, self._find)

    def _find(self) -> Findings:
        name = f"{self._aws.deployment}-{ANY_FUNCTION}"
        call = self._aws.client("lambda").get_function_configuration
        function = answer_of(call, "ResourceNotFound", FunctionName=name)
        if function is None:
            yield self._missing(f"function {name}")
            return
        environment = Environment.from_env(spread(function["Environment"]["Variables"]))
        call = self._aws.client("stepfunctions").describe_state_machine
        machine = answer_of(call, "StateMachineDoesNotExist", stateMachineArn=environment.state_machine)
        if machine is None:
            yield self._missing(f"state machine {environment.state_machine}")
            return
        self.environment = environment
        yield ok("deployment", self._aws.region, f"{machine['name']}, for {', '.join(environment.regions)}")

    def _missing(self, what: str) -> Finding:
        remedy = "npx cdk deploy --all; or correct its region and name, or the account you are signed in to"
        return failed("deployment", self._aws.region, f"there is no {what}", remedy)
