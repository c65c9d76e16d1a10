"""Every setting of the platform, read once from the environment (prefix `GPUAAS_`).

Made by `main.py`, handed down; nothing else reads the environment. docs/settings.md lists them all
and a test fails on one that is missing there.
"""

import os
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


def _data_dir_default() -> Path:
    if os.geteuid() == 0:
        return Path("/var/lib/gpuaas")
    return Path.home() / ".local" / "share" / "gpuaas"


class Settings(BaseSettings):
    """Settings with their defaults: no configuration is needed to start."""

    model_config = SettingsConfigDict(env_prefix="GPUAAS_", frozen=True, extra="ignore")

    data_dir: Annotated[Path, Field(description="Folder of the embedded database and keys")] = (
        Field(default_factory=_data_dir_default)
    )
    database_url: Annotated[
        str | None,
        Field(description="PostgreSQL to use; without it, an embedded one in the data folder"),
    ] = None
    database_pool: Annotated[
        int, Field(ge=2, le=200, description="Connections each replica keeps at most")
    ] = 16
    keyring_file: Annotated[
        Path | None,
        Field(description="Keys all replicas share; without it, keyring.json in the data folder"),
    ] = None
    secret_store: Annotated[
        Literal["embedded", "vault"],
        Field(description="Where secrets lie: the own database, encrypted, or Vault or OpenBao"),
    ] = "embedded"  # noqa: S105 - the name of a kind of store
    vault_addr: Annotated[
        str | None, Field(pattern=r"^https?://", description="Address of Vault or OpenBao")
    ] = None
    vault_namespace: Annotated[
        str | None, Field(description="Namespace there; none for the root's")
    ] = None
    vault_ca_file: Annotated[
        Path | None, Field(description="Authority of its TLS certificate; the system's without it")
    ] = None
    vault_role_id: Annotated[
        str | None, Field(description="AppRole the platform signs in with")
    ] = None
    vault_secret_id_file: Annotated[
        Path | None, Field(description="File with the AppRole's secret id, read at each sign-in")
    ] = None
    vault_approle_mount: Annotated[str, Field(description="Where AppRole is mounted")] = "approle"
    vault_kv_mount: Annotated[
        str, Field(description="Where the key-value store, version 2, is mounted")
    ] = "secret"
    vault_kv_prefix: Annotated[str, Field(description="Path under it that is the platform's")] = (
        "gpuaas"
    )
    vault_transit_mount: Annotated[str, Field(description="Where transit is mounted")] = "transit"
    vault_transit_key: Annotated[
        str, Field(description="Transit key that encrypts what is put into the key-value store")
    ] = "gpuaas"
    vault_timeout_seconds: Annotated[
        float, Field(gt=0, le=60, description="How long it may take to answer")
    ] = 5.0
    artifact_store: Annotated[
        Literal["folder", "s3"],
        Field(description="Where artifacts lie: a folder all replicas share, or a bucket of S3"),
    ] = "folder"
    artifact_dir: Annotated[
        Path | None, Field(description="That folder; without it, `artifacts` in the data folder")
    ] = None
    s3_endpoint: Annotated[
        str | None, Field(pattern=r"^https?://", description="Address of S3 or what speaks like it")
    ] = None
    s3_region: Annotated[str, Field(description="Region requests to S3 are signed for")] = (
        "us-east-1"
    )
    s3_bucket: Annotated[
        str | None, Field(pattern=r"^[a-z0-9.-]{3,63}$", description="Bucket of the artifacts")
    ] = None
    s3_prefix: Annotated[
        str, Field(pattern=r"^[A-Za-z0-9._-]+$", description="What names in the bucket begin with")
    ] = "artifacts"
    s3_access_key: Annotated[str | None, Field(description="Id of the key to S3")] = None
    s3_secret_key_file: Annotated[
        Path | None, Field(description="File with the secret of the key to S3")
    ] = None
    artifact_max_bytes: Annotated[
        int, Field(ge=1, description="Size an artifact may have at most")
    ] = 100 * 1024**3
    artifact_tenant_bytes: Annotated[
        int, Field(ge=0, description="What the artifacts of a tenant may take together")
    ] = 1024**4
    artifact_streams_max: Annotated[
        int, Field(ge=1, description="Machines a replica lets fetch artifacts at once")
    ] = 512
    artifact_allowed_networks: Annotated[
        tuple[IPv4Network | IPv6Network, ...],
        Field(description="Networks registries of tenants may be in though they are private"),
    ] = ()
    audit_head_seconds: Annotated[
        float, Field(gt=0, description="How often a changed audit chain's head is signed and told")
    ] = 600.0
    host: Annotated[str, Field(description="Address to listen on; several with commas")] = (
        "127.0.0.1"
    )
    port: Annotated[int, Field(ge=0, le=65535, description="Port to listen on; 0 picks one")] = 8470
    public_url: Annotated[
        str | None,
        Field(
            description="Address people and agents use; links begin with it, never with a header"
        ),
    ] = None
    trusted_proxies: Annotated[
        tuple[IPv4Network | IPv6Network, ...],
        Field(description="Networks of proxies on other hosts, to be believed, as a JSON list"),
    ] = ()
    console_dir: Annotated[
        Path | None, Field(description="Built web console to serve at /; none without it")
    ] = None
    max_body_bytes: Annotated[int, Field(ge=1024, description="Largest request body accepted")] = (
        1_048_576
    )
    rate_limit_per_second: Annotated[
        float, Field(gt=0, description="Requests each caller may make per second, per replica")
    ] = 200.0
    rate_limit_burst: Annotated[
        int, Field(ge=1, description="Requests a caller may make at once before the rate applies")
    ] = 400
    request_head_seconds: Annotated[
        float, Field(gt=0, description="How long a connection may take to bring a request's head")
    ] = 15.0
    request_body_seconds: Annotated[
        float,
        Field(gt=0, description="How long a body may take, and a second more for each 4 KiB of it"),
    ] = 30.0
    connections_per_address: Annotated[
        int,
        Field(
            ge=1,
            description="Connections, and requests behind a proxy, an address may have open at"
            " once, per replica; a proxy itself and this host are not counted",
        ),
    ] = 1024
    connections_per_tenant: Annotated[
        int,
        Field(ge=1, description="Requests a tenant's callers may have open at once, per replica"),
    ] = 2048
    event_streams_per_caller: Annotated[
        int, Field(ge=1, description="Event streams a caller may have open at once, per replica")
    ] = 256
    event_streams_per_address: Annotated[
        int,
        Field(ge=1, description="Event streams an address may have open at once, per replica"),
    ] = 512
    event_streams_per_tenant: Annotated[
        int, Field(ge=1, description="Event streams a tenant may have open at once, per replica")
    ] = 1024
    event_streams_max: Annotated[
        int, Field(ge=1, description="Event streams a replica serves at most")
    ] = 4000
    access_token_seconds: Annotated[
        int, Field(ge=60, le=3600, description="Life of a service account's token")
    ] = 900
    session_seconds: Annotated[
        int, Field(ge=300, description="Life of a browser session, used or not")
    ] = 7 * 86_400
    session_idle_seconds: Annotated[
        int, Field(ge=60, description="How long an unused browser session lives")
    ] = 8 * 3600
    personal_token_seconds: Annotated[
        int, Field(ge=60, le=730 * 86_400, description="Life of a personal token, unless said")
    ] = 30 * 86_400
    personal_token_max_seconds: Annotated[
        int, Field(ge=60, le=730 * 86_400, description="Longest life a personal token may have")
    ] = 365 * 86_400
    oidc_issuer: Annotated[
        str | None,
        Field(description="The operator's OpenID Connect provider to sign in through, by its URL"),
    ] = None
    oidc_client_id: Annotated[
        str | None, Field(description="Id the provider knows the platform by")
    ] = None
    oidc_client_secret_file: Annotated[
        Path | None, Field(description="File with the client's secret; none for a public client")
    ] = None
    oidc_name: Annotated[str, Field(description="What the sign-in button calls the provider")] = (
        "single sign-on"
    )
    oidc_scopes: Annotated[str, Field(description="Scopes asked for, separated by spaces")] = (
        "openid email profile groups"
    )
    oidc_groups_claim: Annotated[str, Field(description="Claim that lists a person's groups")] = (
        "groups"
    )
    oidc_create_users: Annotated[
        bool, Field(description="Whether people unknown here become users when they sign in")
    ] = True
    oidc_trust_email: Annotated[
        bool,
        Field(description="Link people to existing users by addresses not marked as verified"),
    ] = False
    provider_allowed_networks: Annotated[
        tuple[IPv4Network | IPv6Network, ...],
        Field(description="Networks identity providers of tenants may be in though private"),
    ] = ()
    dns_servers: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[0-9A-Fa-f.:]+$")], ...],
        Field(
            description="Name servers asked for proofs of domains, as address or IPv4:port, as a"
            " JSON list; without them, those of this machine"
        ),
    ] = ()
    bootstrap_admin_email: Annotated[
        str | None,
        Field(description="Administrator to create at start while the platform has none"),
    ] = None
    bootstrap_admin_password_file: Annotated[
        Path | None, Field(description="File with that administrator's password")
    ] = None
    controller_absent_seconds: Annotated[
        float,
        Field(gt=0, description="Silence after which an app's controller is said to be absent"),
    ] = 60.0
    agent_ca_file: Annotated[
        Path | None,
        Field(description="Authority of the platform's certificate that agents pin, as PEM"),
    ] = None
    agent_absent_seconds: Annotated[
        float, Field(gt=0, description="Silence after which a node's agent is said to be absent")
    ] = 90.0
    agent_address_bound: Annotated[
        bool,
        Field(
            description="An agent's identity is heard from one address at a time; switch it off"
            " where agents reach the platform from addresses that change between requests"
        ),
    ] = True
    node_identity_hours: Annotated[
        float, Field(gt=0, description="How often a node's agent takes a new identity")
    ] = 24.0
    node_identity_days: Annotated[
        float,
        Field(gt=0, description="How long an identity lives; a node away longer is enrolled anew"),
    ] = 30.0
    task_output_retention_days: Annotated[
        float, Field(gt=0, description="How long the output of node tasks is kept")
    ] = 30.0
    event_retention_days: Annotated[
        float, Field(gt=0, description="How long events are kept for streams, lists and webhooks")
    ] = 14.0
    request_retention_days: Annotated[
        float, Field(gt=0, description="How long the trace of each mutating request is kept")
    ] = 30.0
    idempotency_retention_hours: Annotated[
        float, Field(gt=0, description="How long a repeated request gets its first answer again")
    ] = 48.0
    delivery_retention_days: Annotated[
        float, Field(gt=0, description="How long webhook deliveries, dead ones too, are kept")
    ] = 14.0
    webhook_timeout_seconds: Annotated[
        float, Field(gt=0, le=60, description="How long a webhook's target may take to answer")
    ] = 10.0
    webhook_attempts: Annotated[
        int, Field(ge=1, description="Attempts before an event is given up as a dead delivery")
    ] = 10
    webhook_disable_hours: Annotated[
        float, Field(gt=0, description="A webhook that took nothing for so long is disabled")
    ] = 72.0
    webhook_allowed_networks: Annotated[
        tuple[IPv4Network | IPv6Network, ...],
        Field(description="Networks webhooks may reach though they are private, as a JSON list"),
    ] = ()
    nats_url: Annotated[
        str | None, Field(description="NATS server whose JetStream gets every event as well")
    ] = None
    nats_stream: Annotated[
        str, Field(pattern=r"^[A-Za-z0-9_-]+$", description="JetStream stream the events go to")
    ] = "GPUAAS"
    nats_credentials_file: Annotated[
        Path | None, Field(description="Credentials for the NATS server, as made by `nsc`")
    ] = None
    shutdown_grace_seconds: Annotated[
        float, Field(ge=0, description="How long running requests may finish after SIGTERM")
    ] = 20.0
    min_free_bytes: Annotated[
        int, Field(ge=0, description="Free space the data folder needs for the replica to be ready")
    ] = 268_435_456
    metrics_host: Annotated[str, Field(description="Address of the port for metrics")] = "127.0.0.1"
    metrics_port: Annotated[
        int | None,
        Field(ge=0, le=65535, description="Port that serves metrics alone, to whoever reaches it"),
    ] = None
    otlp_endpoint: Annotated[
        str | None,
        Field(pattern=r"^https?://", description="OTLP/HTTP collector traces are sent to"),
    ] = None
    otlp_sample_ratio: Annotated[
        float, Field(ge=0, le=1, description="Share of traces begun here that is sent")
    ] = 1.0
    telemetry_retention_days: Annotated[
        float, Field(gt=0, description="How long log lines and spans are kept for timelines")
    ] = 7.0
    telemetry_rows_per_correlation: Annotated[
        int,
        Field(ge=0, le=100_000, description="Lines and spans kept of one correlation id; 0: none"),
    ] = 2_000
    telemetry_rows_max: Annotated[
        int, Field(ge=1_000, description="Lines and spans kept at most, of all correlation ids")
    ] = 500_000
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Field(description="Least level logged")
    ] = "info"
    log_format: Annotated[
        Literal["json", "console"], Field(description="JSON lines, or coloured lines for people")
    ] = "json"
