"""The picture of the architecture is drawn from what is deployed."""

from tools.data_flow import PAGE, page


def test_picture_is_what_state_machine_and_template_say() -> None:
    text = PAGE.read_text()
    assert page(text) == text, f"run `make diagram` and commit {PAGE}"
