"""A port's listening sockets are told apart by their inodes."""

import socket

from gpuaas_agent.listeners import listener_renewed, listeners


def test_a_socket_that_is_made_anew_is_another_listener() -> None:
    with socket.create_server(("127.0.0.1", 0)) as first:
        port = first.getsockname()[1]
        before = listeners(port)
        assert len(before) == 1
        assert not listener_renewed(port, before, within=0.05)
    assert listeners(port) == frozenset()
    with socket.create_server(("127.0.0.1", port)):
        assert listener_renewed(port, before, within=30)


def test_a_connection_is_no_listener() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            assert listeners(client.getsockname()[1]) == frozenset()
