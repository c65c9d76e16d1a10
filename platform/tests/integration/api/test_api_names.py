"""Names by ids: of every kind, to whoever may read the thing, and to nobody else."""

from api_scenario import Scenario
from api_witness import hidden_words
from identity_fixtures import World

OF_THE_PROJECT = {
    "org_id": "zebra",
    "project_id": "quagga",
    "user_id": "member",
    "account_id": "quagga-robot",
    "allocation_0": "quagga-0",
    "instance_id": "quagga-echo",
    "operation_id": "say",
}


async def test_a_reader_of_the_project_is_told_all_its_names(scenario: Scenario) -> None:
    expected = {scenario.params[key]: name for key, name in OF_THE_PROJECT.items()}
    for who in ("viewer", "lead", "boss", "root"):
        assert await _named(scenario, who, list(expected)) == expected, who
        (member,) = (await _named(scenario, who, [scenario.params["member_id"]])).values()
        assert member.startswith("voice on quagga-")


async def test_names_come_in_the_order_asked_for_and_once(scenario: Scenario) -> None:
    ids = [scenario.params[key] for key in ("instance_id", "user_id", "instance_id")]
    told = await _named(scenario, "viewer", [*ids, "user_of_nobody", "nothing", "zzz_1"])
    assert list(told) == ids[:2]


async def test_nodes_are_named_to_those_who_run_them(scenario: Scenario) -> None:
    node = scenario.params["node_id"]
    assert await _named(scenario, "root", [node]) == {node: "n7"}
    assert await _named(scenario, "boss", [node]) == {}


async def test_somebody_of_the_tenant_is_named_in_its_projects_and_not_beside_them(
    scenario: Scenario,
) -> None:
    """The tenant's admin has a role in every project of it; a member of the next one has not."""
    people = {who: scenario.people[who].user_id for who in ("boss", "lead", "neighbour")}
    told = await _named(scenario, "viewer", list(people.values()))
    assert set(told) == {people["boss"], people["lead"]}
    told = await _named(scenario, "neighbour", list(people.values()))
    assert set(told) == {people["boss"], people["neighbour"]}


async def test_whoever_reads_nothing_is_told_their_own_name_alone(scenario: Scenario) -> None:
    own = scenario.people["bystander"].user_id
    ids = [scenario.params[key] for key in OF_THE_PROJECT if key != "org_id"]
    assert await _named(scenario, "bystander", [*ids, own]) == {own: "bystander"}


async def test_nothing_of_others_is_told(world: World, scenario: Scenario) -> None:
    """With every id there is in the project, and in the tenant."""
    for who in ("stranger", "neighbour"):
        hidden = await hidden_words(world, scenario, who)
        ids = sorted(word for word in hidden if "_" in word and len(word) <= 64)
        for first in range(0, len(ids), 100):
            told = await _named(scenario, who, ids[first : first + 100])
            assert set(told) <= {scenario.people[who].user_id}, (who, told)


async def _named(scenario: Scenario, who: str, ids: list[str]) -> dict[str, str]:
    client = scenario.root.with_token("").client
    answer = await client.get("/names", params={"id": ids}, headers=scenario.headers(who))
    assert answer.status_code == 200, answer.text
    return {one["id"]: one["name"] for one in answer.json()["items"]}
