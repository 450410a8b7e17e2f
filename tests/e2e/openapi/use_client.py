"""Uses the client that was generated of /openapi.json, as a customer's program would. Prints what it saw as JSON.

    use_client.py FOLDER http://GATEWAY KEY        FOLDER holds the package `galen_client`
"""
import json
import sys
import time

sys.path.insert(0, sys.argv[1])
from galen_client import AuthenticatedClient  # noqa: E402
from galen_client.api.action_service import action_service_list_actions as list_actions  # noqa: E402
from galen_client.api.diagnosis_service import (  # noqa: E402
    diagnosis_service_create_diagnosis as create, diagnosis_service_get_diagnosis as get, diagnosis_service_list_diagnoses as list_all,
    diagnosis_service_submit_feedback as submit_feedback)
from galen_client.models import (  # noqa: E402
    DiagnosisServiceSubmitFeedbackBody, Error, GalenV1Diagnosis, GalenV1Incident, GalenV1LogSource)

client = AuthenticatedClient(base_url=sys.argv[2], token=sys.argv[3])


def await_end(identity, more_than=0):
    while True:
        diagnosis = get.sync("acme", identity, client=client)
        assert isinstance(diagnosis, GalenV1Diagnosis), diagnosis
        if diagnosis.state in ("SUCCEEDED", "AWAITING_FEEDBACK", "FAILED") and int(diagnosis.last_sequence) > more_than:
            return diagnosis
        time.sleep(0.1)


incident = GalenV1Incident(description="training died at step 4100", logs=[GalenV1LogSource(
    path="train.log", kind="JOB", content="TkNDTCBXQVJOIENvbm5lY3QgZmFpbGVkOiBDb25uZWN0aW9uIHJlZnVzZWQK")])
made = create.sync("acme", client=client, body=GalenV1Diagnosis(incident=incident), idempotency_key="once")
again = create.sync("acme", client=client, body=GalenV1Diagnosis(incident=incident), idempotency_key="once")
identity = made.name.split("/")[-1]
first = await_end(identity)
told = submit_feedback.sync("acme", identity, client=client,
                            body=DiagnosisServiceSubmitFeedbackBody(text="all ranks of one rack"))
second = await_end(identity, more_than=int(first.last_sequence))
listed = list_all.sync("acme", client=client, page_size=10)
actions = list_actions.sync("acme", identity, client=client)
missing = get.sync("acme", "nothing-like-it", client=client)
foreign = get.sync("globex", identity, client=client)
assert isinstance(missing, Error) and isinstance(foreign, Error), (missing, foreign)
print(json.dumps({
    "name": made.name, "again": again.name, "description": second.incident.description, "told": told.name, "feedback": len(second.feedback),
    "hypotheses": len(second.report.undecided), "listed": [one.name for one in listed.diagnoses], "actions": actions.to_dict(),
    "missing": missing.error.status, "foreign": foreign.error.status}))
