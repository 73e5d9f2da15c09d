"""The addresses at which the machines of a transfer reach each other."""

from typing import Literal

from lambdas.core.documents import Handover


class ResolvedPaths(Handover):
    """Addresses per kind of hop: between regions private (peering) or public; inside a region always private."""

    direct_reachable: bool
    inter_region: Literal["private", "public"]
    source_address: str
    receiver_address: str
    receiver_inside_address: str

    def outward(self, private: str, public: str | None) -> str:
        """The address that the other region sees; raises LookupError when a public one is needed and absent."""
        if self.inter_region == "private":
            return private
        if public is None:
            raise LookupError(private)
        return public
