-- App instances, their members, and the queue of operations their controllers work through.

CREATE TABLE app_instances (
    id text PRIMARY KEY,
    org_id text NOT NULL,
    project_id text NOT NULL,
    resource_name text NOT NULL,
    display_name text NOT NULL,
    app_slug text NOT NULL,
    app_version text NOT NULL,
    previous_version text,
    runtime_version text NOT NULL DEFAULT '',
    operating_mode text NOT NULL,
    control_plane_scope text NOT NULL,
    runtime_backend text NOT NULL,
    topology text NOT NULL,
    placement_intent jsonb NOT NULL,
    settings jsonb NOT NULL,
    settings_revision int NOT NULL DEFAULT 1,
    settings_applied_revision int NOT NULL DEFAULT 0,
    status text NOT NULL,
    health text NOT NULL,
    conditions jsonb NOT NULL DEFAULT '[]',
    adapter_detail jsonb,
    access jsonb,
    absence jsonb,
    revision int NOT NULL DEFAULT 1,
    last_operation_id text,
    correlation_id text NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz,
    -- Who reports on the instance outside operations: one replica at a time.
    observer text,
    observer_token_hash bytea,
    observer_until timestamptz,
    FOREIGN KEY (project_id, org_id) REFERENCES projects (id, org_id)
);
CREATE UNIQUE INDEX app_instances_name ON app_instances (project_id, resource_name)
    WHERE status <> 'deleted';
CREATE INDEX app_instances_project ON app_instances (project_id, id);
CREATE INDEX app_instances_org ON app_instances (org_id, id);
CREATE INDEX app_instances_slug ON app_instances (app_slug, id);
CREATE INDEX app_instances_correlation ON app_instances (correlation_id);
CREATE INDEX app_instances_live ON app_instances (app_slug, project_id) WHERE status <> 'deleted';

-- A removed member stays as its own tombstone.
CREATE TABLE app_members (
    id text PRIMARY KEY,
    instance_id text NOT NULL REFERENCES app_instances (id),
    org_id text NOT NULL,
    project_id text NOT NULL,
    component_key text NOT NULL,
    allocation_id text NOT NULL,
    shares_allocation boolean NOT NULL DEFAULT false,
    node text NOT NULL DEFAULT '',
    status text NOT NULL,
    health text NOT NULL,
    conditions jsonb NOT NULL DEFAULT '[]',
    adapter_detail jsonb,
    runtime_version text NOT NULL DEFAULT '',
    absence jsonb,
    revision int NOT NULL DEFAULT 1,
    last_operation_id text,
    correlation_id text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    removed_at timestamptz
);
CREATE INDEX app_members_instance ON app_members (instance_id, id);
CREATE INDEX app_members_correlation ON app_members (correlation_id);
-- One live member per allocation, unless the placement says that they share it.
CREATE UNIQUE INDEX app_members_alone ON app_members (allocation_id)
    WHERE status <> 'removed' AND NOT shares_allocation;
CREATE INDEX app_members_allocation ON app_members (allocation_id) WHERE status <> 'removed';

CREATE TABLE operation_groups (
    id text PRIMARY KEY,
    instance_id text NOT NULL REFERENCES app_instances (id),
    org_id text NOT NULL,
    project_id text NOT NULL,
    kind text NOT NULL,
    parallelism int NOT NULL,
    correlation_id text NOT NULL,
    requested_by text NOT NULL,
    requested_at timestamptz NOT NULL
);
CREATE INDEX operation_groups_instance ON operation_groups (instance_id, id);

-- requested → accepted (claimed) → running → succeeded | failed | cancelled; a lapsed lease goes
-- back to requested. `ready` says that nothing of the instance stands before it: it is set under
-- the instance's lock and stays set until the operation is claimed, so a claim looks at this
-- row alone.
CREATE SEQUENCE operation_positions;
CREATE TABLE operations (
    id text PRIMARY KEY,
    instance_id text NOT NULL REFERENCES app_instances (id),
    org_id text NOT NULL,
    project_id text NOT NULL,
    app_slug text NOT NULL,
    kind text NOT NULL,
    purpose text NOT NULL,
    exclusive boolean NOT NULL,
    member_id text REFERENCES app_members (id),
    new_member_id text REFERENCES app_members (id),
    group_id text REFERENCES operation_groups (id),
    waits_for text REFERENCES operations (id),
    input jsonb NOT NULL,
    target_version text,
    status text NOT NULL,
    position bigint NOT NULL DEFAULT nextval('operation_positions'),
    ready boolean NOT NULL DEFAULT false,
    not_before timestamptz NOT NULL,
    progress jsonb NOT NULL DEFAULT '[]',
    step_deadline timestamptz,
    conditions jsonb NOT NULL DEFAULT '[]',
    attempt int NOT NULL DEFAULT 1,
    max_attempts int NOT NULL,
    retry_after_seconds double precision NOT NULL,
    attempt_seconds double precision NOT NULL,
    cancellable boolean NOT NULL,
    lease_holder text,
    lease_replica text,
    lease_token_hash bytea,
    lease_until timestamptz,
    fence int NOT NULL DEFAULT 0,
    began boolean NOT NULL DEFAULT false,
    cancel_requested boolean NOT NULL DEFAULT false,
    superseded boolean NOT NULL DEFAULT false,
    error jsonb,
    revision int NOT NULL DEFAULT 1,
    correlation_id text NOT NULL,
    requested_by text NOT NULL,
    reason text NOT NULL DEFAULT '',
    requested_at timestamptz NOT NULL,
    started_at timestamptz,
    attempt_started_at timestamptz,
    ended_at timestamptz
);
CREATE INDEX operations_instance ON operations (instance_id, id);
CREATE INDEX operations_project ON operations (project_id, id);
CREATE INDEX operations_org ON operations (org_id, id);
CREATE INDEX operations_member ON operations (member_id, id) WHERE member_id IS NOT NULL;
CREATE INDEX operations_new_member ON operations (new_member_id, id)
    WHERE new_member_id IS NOT NULL;
CREATE INDEX operations_group ON operations (group_id, id) WHERE group_id IS NOT NULL;
CREATE INDEX operations_correlation ON operations (correlation_id);
CREATE INDEX operations_status ON operations (status, id);
CREATE INDEX operations_project_status ON operations (project_id, status, id);

CREATE INDEX operations_sleeping ON operations (waits_for)
    WHERE waits_for IS NOT NULL AND status = 'requested';

-- What can be claimed, oldest first: this index holds nothing else.
CREATE INDEX operations_claimable ON operations (app_slug, not_before, id)
    WHERE status = 'requested' AND ready;
CREATE INDEX operations_claimable_project ON operations (project_id, app_slug, not_before, id)
    WHERE status = 'requested' AND ready;
CREATE INDEX operations_claimable_instance ON operations (instance_id, not_before, id)
    WHERE status = 'requested' AND ready;
-- What is not at its end, per instance; what is leased, by when the lease ends; what may be stuck.
CREATE INDEX operations_open ON operations (instance_id, position)
    WHERE status IN ('requested', 'accepted', 'running');
CREATE INDEX operations_leases ON operations (lease_until)
    WHERE status IN ('accepted', 'running');
CREATE INDEX operations_deadlines ON operations (step_deadline)
    WHERE status = 'running' AND step_deadline IS NOT NULL;

-- The two rules that hold whatever the code does.
CREATE UNIQUE INDEX operations_one_per_member ON operations (member_id)
    WHERE member_id IS NOT NULL AND status IN ('accepted', 'running');
CREATE UNIQUE INDEX operations_one_exclusive ON operations (instance_id)
    WHERE exclusive AND status IN ('accepted', 'running');
ALTER TABLE operations ADD CONSTRAINT operations_lease_held CHECK (
    (status IN ('accepted', 'running')) = (lease_token_hash IS NOT NULL)
);

-- Controllers seen: one row per replica, app and place served.
CREATE TABLE app_controllers (
    service_account_id text NOT NULL,
    replica text NOT NULL,
    app_slug text NOT NULL,
    place text NOT NULL,
    org_id text,
    project_id text,
    version text NOT NULL,
    first_seen timestamptz NOT NULL,
    last_seen timestamptz NOT NULL,
    PRIMARY KEY (app_slug, place, service_account_id, replica)
);
CREATE INDEX app_controllers_replica ON app_controllers (app_slug, service_account_id, replica);
