"""Checksums against values that their specifications, or other implementations, give."""

import pytest

from local.patches.objects.xxh import xxh3, xxh64, xxh128

# Made by the reference library, of the first bytes of 0, 1, 2 … 250, 0, 1 …
OF = [
    (0, "ef46db3751d8e999", "2d06800538d394c2", "99aa06d3014798d86001c324468d497f"),
    (1, "e934a84adb052768", "c44bdff4074eecdb", "a6cd5e9392000f6ac44bdff4074eecdb"),
    (3, "e5c7bb4533bc65dd", "5f4299fc161c9cbb", "e3b55f57945a17cf5f4299fc161c9cbb"),
    (4, "ffced8604453cc1e", "60dab036a58211f2", "eb70bf5fc779e9e6a6111d53e80a3db5"),
    (8, "884a173614b81b8d", "3a1c2d7c85af88f8", "e1e4432a62217fe4cfd50c61c8bb98c1"),
    (9, "67d85784a7c78c5b", "e9612598145bb9dc", "16c769d83e4aebce907931979dca3746"),
    (16, "44b6ef2fb84169f7", "8355e3a6f61770db", "72950631827607e2842812cc870dcae2"),
    (17, "5603e60c527599b6", "9ef341a99de37328", "685bc458b37d057fc06e233df7729217"),
    (32, "cbf59c5116ff32b4", "3523581fe96e4c05", "25e7c9b3424ceed2457d9566b6fcd697"),
    (33, "0c535d1acafb8ead", "e68c56ba88991e58", "02175c3aabb00637e08d84951339de86"),
    (128, "7a7fe14647b9ab92", "85c6174c7ff4c46b", "14792fc3af88dc6c05321a0b64d67b41"),
    (129, "0ba25dfd6e891fcf", "ec7642b431ba3e5a", "dd5e74ac6b45f54ebc30b63382b09a3b"),
    (240, "012947f0da6a27b1", "375a384d957fe865", "65b5be86da5540e7c92b68e16f83bbb6"),
    (241, "8d643f23bf2808e1", "02e8cd95421c6d02", "1da1cb61bcb8a2a102e8cd95421c6d02"),
    (1024, "138e26c65048ce29", "e5d78bafa45b2aa5", "d0ac1f7b93bf57b9e5d78bafa45b2aa5"),
    (1025, "cfd73aedd2d6a39d", "e95c42288f28186e", "2882ebca04ec915ce95c42288f28186e"),
    (3000, "0bf839809bf7d3b8", "1b846747012c24aa", "d324b9e72fa9fb271b846747012c24aa"),
]


@pytest.mark.parametrize(("size", "of_64", "of_3", "of_128"), OF)
def test_sums_of_xxh_are_those_of_the_reference(size: int, of_64: str, of_3: str, of_128: str) -> None:
    body = (bytes(range(251)) * (size // 251 + 1))[:size]
    assert (xxh64(body).hex(), xxh3(body).hex(), xxh128(body).hex()) == (of_64, of_3, of_128)
