"""Machines of the user, and third regions that relays may be in."""

from lambdas.core.documents import Count, Document, InstanceId, Region, StageIndex
from lambdas.core.places.place import Place


class EndMachine(Document):
    """An instance at one end, as EC2 describes it; addresses are IPv4."""

    instance_id: InstanceId
    region: Region
    availability_zone: str
    instance_type: str
    vcpus: Count | None = None
    vpc_id: str
    subnet_id: str
    private_address: str
    public_address: str | None = None

    @property
    def place(self) -> Place:
        """Where it is."""
        return Place(self.region, self.vpc_id, self.availability_zone)

    @property
    def where(self) -> str:
        """Its VPC in words."""
        return f"{self.vpc_id} ({self.region}), the VPC of {self.instance_id}"


class ExistingRelay(EndMachine):
    """A machine of the user that serves as a relay of a stage; never terminated."""

    stage: StageIndex
    spot: bool = False


class TransitRegion(Document):
    """A third region that relays may be in, and the enrolled VPC there."""

    region: Region
    vpc_id: str

    @property
    def place(self) -> Place:
        """Where relays in it are."""
        return Place(self.region, self.vpc_id)
