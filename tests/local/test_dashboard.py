"""The dashboard of the local cloud: what it takes away from a widget's HTML, and whom it calls."""

import json
import urllib.error
import urllib.request

import pytest

from local.cloud import LocalCloud
from local.dashboard.sanitized import sanitized


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("<p>a<script>alert(1)</script>b</p>", "<p>ab</p>"),
        ("<p>a<SCRIPT src=x>1<script>2</script>b</p>", "<p>ab</p>"),
        ('<iframe src="x"><b>c</b></iframe>d', "d"),
        (
            '<svg viewBox="0 0 1 1"><use href="#a"></use><rect width="1"/></svg>',
            '<svg viewBox="0 0 1 1"><rect width="1"/></svg>',
        ),
        ('<a href="#" onclick="x()" class="act">e</a>', '<a href="#" class="act">e</a>'),
        ('<a href=" JavaScript:x()">f</a>', "<a>f</a>"),
        ("&lt;script&gt; &#39;g&#39;", "&lt;script&gt; &#39;g&#39;"),
        (
            '<cwdb-action action="call">{&#34;a&#34;: 1}</cwdb-action>',
            '<cwdb-action action="call">{&#34;a&#34;: 1}</cwdb-action>',
        ),
        ("<style>.a { color: red; }</style>", "<style>.a { color: red; }</style>"),
    ],
)
def test_what_acts_is_taken_away_and_the_rest_stays(given: str, kept: str) -> None:
    assert sanitized(given) == kept


def test_a_custom_widget_of_a_dashboard_is_shown_and_its_function_called(cloud: LocalCloud) -> None:
    arn = cloud.client("lambda").get_function(FunctionName="probe")["Configuration"]["FunctionArn"]
    widget = {"type": "custom", "properties": {"title": "<Live>", "endpoint": arn, "params": {"action": "none"}}}
    body = json.dumps({"widgets": [widget, {"type": "text", "properties": {}}]})
    cloud.client("cloudwatch").put_dashboard(DashboardName="probe", DashboardBody=body)
    with urllib.request.urlopen(f"{cloud.endpoint}/_local/dashboard") as answer:
        page = answer.read().decode()
    assert "&lt;Live&gt;" in page
    assert page.count('class="widget"') == 1
    asked = {"endpoint": arn, "payload": {"action": "none"}, "theme": "dark", "forms": {"limit": "8"}}
    request = urllib.request.Request(
        f"{cloud.endpoint}/_local/dashboard/call", json.dumps(asked).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        html = json.loads(answer.read())["html"]
    assert "&quot;theme&quot;: &quot;dark&quot;" in html
    assert "&quot;limit&quot;: &quot;8&quot;" in html


def test_a_call_that_another_page_could_send_is_refused(cloud: LocalCloud) -> None:
    request = urllib.request.Request(f"{cloud.endpoint}/_local/dashboard/call", b"{}", {"Content-Type": "text/plain"})
    with pytest.raises(urllib.error.HTTPError, match="415"):
        urllib.request.urlopen(request)
