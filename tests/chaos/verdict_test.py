"""What the verdict of a chaos run says of answers that keep no promise."""
import unittest

import tickets
import verdict


class Load:
    def __init__(self, answers, stuck=()):
        self.answers = answers
        self.stuck = list(stuck)


def log(request, broken=()):
    return {"request_id": request, "name": f"diagnoses/{request}", "broken": list(broken)}


class Verdict(unittest.TestCase):
    healthy = {"name": "a", "state": "SUCCEEDED", "checkResults": [{"id": "c@node0", "node": "node0", "message": "ok"}]}

    def broken(self, answers, logs, stuck=()):
        expected = {"example": verdict.galen.comparable(self.healthy)}
        return verdict.broken_promises(expected, Load(answers, stuck), logs)

    def test_finds_nothing_where_all_is_kept(self):
        self.assertEqual(self.broken({"r": ("example", self.healthy)}, [log("r")]), [])

    def test_finds_what_is_lost_stuck_broken_or_another_report(self):
        other = {**self.healthy, "state": "FAILED"}
        self.assertIn("another report", self.broken({"r": ("example", other)}, [log("r")])[0])
        self.assertEqual(self.broken({"r": ("example", self.healthy)}, []), ["r: lost", "0 logs of 1 requests"])
        self.assertIn("not answered", self.broken({}, [log("r")], ["r"])[0])
        self.assertIn("a second end", self.broken({"r": ("example", self.healthy)}, [log("r", ["a second end"])])[0])

    def test_finds_lies_about_another_node_alone(self):
        own = {"state": "SUCCEEDED", "checkResults": [{"id": "c@liar", "node": "liar", "message": "LIAR: all is well"}]}
        self.assertEqual(self.broken({"r": (verdict.LYING, own)}, [log("r")]), [])
        for lie in ({"checkResults": [{"id": "c@node0", "message": "LIAR"}]},
                    {"checkResults": [{"node": "node0", "findings": [{"subject": {"device": "LIAR"}}]}]},
                    {"report": {"evidence": [{"id": "x", "subject": {"node": "node0"}, "text": "LIAR"}]}}):
            found = self.broken({"r": (verdict.LYING, {"state": "SUCCEEDED", **lie})}, [log("r")])
            self.assertIn("a lie about another node", found[0])

    def test_what_the_liar_answered_to_its_partner_is_no_lie_where_it_is_said_whose_words_they_are(self):
        said = "node executor of liar gave no answer as the server of node0: LIAR: the node is on fire"
        partner = {"id": "rdma.pair@node0", "node": "node0", "status": "ERROR", "message": said}
        untested = "not tested: liar opened no port for it ({})"
        for result, count in ((partner, 0), ({**partner, "status": "FAIL"}, 1), ({**partner, "message": "LIAR: the node is on fire"}, 1),
                              ({**partner, "message": untested.format(said)}, 0),
                              ({**partner, "message": untested.format("LIAR: nothing to complain of")}, 0),
                              ({**partner, "message": untested.format("LIAR").replace("liar", "node1")}, 1),
                              ({**partner, "findings": [{"text": "LIAR"}]}, 1), ({**partner, "message": said.replace("of liar", "of node1")}, 1)):
            answers = {"r": (verdict.LYING, {"state": "SUCCEEDED", "checkResults": [result]})}
            self.assertEqual(len(self.broken(answers, [log("r")])), count, result)

    def test_finds_tickets_that_are_lost_opened_twice_or_of_nothing(self):
        def broken(opened, due=(), dead=()):
            return tickets.broken_promises({"early", "a", "b"}, {"early"}, {"generic": opened}, due, dead)

        self.assertEqual(broken({"a": 1, "b": 1}), [])
        self.assertEqual(broken({"a": 1, "b": 1, "early": 1}), [])
        self.assertEqual(broken({"a": 1}), ["b: no ticket in generic"])
        self.assertEqual(broken({"a": 2, "b": 1}), ["a: 2 tickets in generic"])
        self.assertEqual(broken({"a": 1, "b": 1, "c": 1}), ["c: a ticket in generic of no diagnosis"])
        self.assertEqual(broken({"a": 1, "b": 1}, ["b"], ["a"]), ["still due: b", "given up: a"])


if __name__ == "__main__":
    unittest.main()
