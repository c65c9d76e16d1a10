"""Permission keys and the built-in roles, which are bundles of them.

Handlers test keys, never role names; a role is a label. Adding a key here is enough for it to be
grantable in custom roles, listed by the API and documented in the RBAC reference. Pure.
"""

from enum import StrEnum
from typing import Final


class Permission(StrEnum):
    """Every permission key. The members' comments are their documentation."""

    TENANT_READ = "identity.tenant.read"
    TENANT_CREATE = "identity.tenant.create"
    TENANT_UPDATE = "identity.tenant.update"
    PROJECT_READ = "identity.project.read"
    PROJECT_CREATE = "identity.project.create"
    PROJECT_UPDATE = "identity.project.update"
    USER_READ = "identity.user.read"
    USER_MANAGE = "identity.user.manage"
    PERSON_READ = "identity.person.read"
    SERVICE_ACCOUNT_READ = "identity.service_account.read"
    SERVICE_ACCOUNT_MANAGE = "identity.service_account.manage"
    ROLE_READ = "identity.role.read"
    ROLE_MANAGE = "identity.role.manage"
    BINDING_READ = "identity.binding.read"
    BINDING_MANAGE = "identity.binding.manage"
    AUTHORIZATION_EXPLAIN = "identity.authorization.explain"
    BREAK_GLASS = "identity.break_glass.use"
    PROVIDER_READ = "identity.provider.read"
    PROVIDER_MANAGE = "identity.provider.manage"
    DOMAIN_DECIDE = "identity.domain.decide"

    POLICY_READ = "policy.overlay.read"
    POLICY_WRITE = "policy.overlay.write"

    AUDIT_READ = "audit.entry.read"
    AUDIT_EXPORT = "audit.entry.export"
    AUDIT_VERIFY = "audit.chain.verify"

    EVENT_READ = "events.event.read"
    WEBHOOK_READ = "events.webhook.read"
    WEBHOOK_MANAGE = "events.webhook.manage"

    REGION_READ = "capacity.region.read"
    REGION_MANAGE = "capacity.region.manage"
    SKU_READ = "capacity.sku.read"
    SKU_MANAGE = "capacity.sku.manage"
    NODE_READ = "capacity.node.read"
    NODE_MANAGE = "capacity.node.manage"
    ALLOCATION_READ = "capacity.allocation.read"
    ALLOCATION_CREATE = "capacity.allocation.create"
    ALLOCATION_RELEASE = "capacity.allocation.release"
    NODE_TASK_READ = "capacity.task.read"
    NODE_TASK_CREATE = "capacity.task.create"
    QUOTA_MANAGE = "capacity.quota.manage"

    CA_ROTATE = "custody.ca.rotate"
    GRANT_CREATE = "custody.grant.create"
    GRANT_LOGIN = "custody.grant.login"
    GRANT_READ = "custody.grant.read"
    CREDENTIAL_READ = "custody.credential.read"
    CREDENTIAL_MANAGE = "custody.credential.manage"
    CREDENTIAL_DELIVER = "custody.credential.deliver"
    SECRET_READ = "custody.secret.read"
    SECRET_MANAGE = "custody.secret.manage"
    SECRET_DELIVER = "custody.secret.deliver"

    ARTIFACT_READ = "artifacts.artifact.read"
    ARTIFACT_PUBLISH = "artifacts.artifact.publish"
    ARTIFACT_PROMOTE = "artifacts.artifact.promote"
    ARTIFACT_DELIVER = "artifacts.artifact.deliver"
    ARTIFACT_SOURCE_READ = "artifacts.source.read"
    ARTIFACT_SOURCE_MANAGE = "artifacts.source.manage"

    CATALOG_READ = "catalog.app.read"
    CATALOG_PUBLISH = "catalog.app.publish"
    ENTITLEMENT_READ = "catalog.entitlement.read"
    ENTITLEMENT_MANAGE = "catalog.entitlement.manage"

    INSTANCE_READ = "apps.instance.read"
    INSTANCE_CREATE = "apps.instance.create"
    INSTANCE_UPDATE = "apps.instance.update"
    INSTANCE_DELETE = "apps.instance.delete"
    OPERATION_READ = "apps.operation.read"
    OPERATION_CREATE = "apps.operation.create"
    OPERATION_CANCEL = "apps.operation.cancel"
    OPERATION_RETRY = "apps.operation.retry"
    OPERATION_ABANDON = "apps.operation.abandon"
    OPERATION_CONTROL = "apps.operation.control"

    SCHEDULER_CATALOG_READ = "scheduler.catalog.read"
    SCHEDULER_INSTANCE_READ = "scheduler.instance.read"
    SCHEDULER_INSTANCE_CREATE = "scheduler.instance.create"
    SCHEDULER_INSTANCE_UPDATE = "scheduler.instance.update"
    SCHEDULER_INSTANCE_DELETE = "scheduler.instance.delete"
    SCHEDULER_QUEUE_SUBMIT = "scheduler.queue.submit"
    SCHEDULER_QUEUE_READ = "scheduler.queue.read"
    SCHEDULER_QUEUE_CANCEL = "scheduler.queue.cancel"
    SCHEDULER_NODE_READ = "scheduler.node.read"
    SCHEDULER_NODE_OPERATE = "scheduler.node.operate"

    SHARED_RUNTIME_READ = "sharing.runtime.read"
    SHARED_RUNTIME_MANAGE = "sharing.runtime.manage"
    ATTACHMENT_REQUEST = "sharing.attachment.request"
    ATTACHMENT_APPROVE = "sharing.attachment.approve"

    USAGE_READ = "billing.usage.read"
    USAGE_REPORT = "billing.usage.report"
    PRICE_MANAGE = "billing.price.manage"

    CORRELATION_READ = "operate.correlation.read"
    GAP_READ = "operate.gap.read"
    GAP_WRITE = "operate.gap.write"
    HEALTH_READ = "operate.health.read"


class RoleName(StrEnum):
    """Names of the built-in roles."""

    PLATFORM_ADMIN = "platform_admin"
    AUDITOR = "auditor"
    TENANT_ADMIN = "tenant_admin"
    PROJECT_ADMIN = "project_admin"
    PROJECT_MEMBER = "project_member"
    PROJECT_VIEWER = "project_viewer"
    APP_OPERATOR = "app_operator"


_P = Permission

_VIEWER: Final = frozenset(
    {
        _P.PROJECT_READ, _P.PERSON_READ, _P.POLICY_READ, _P.EVENT_READ, _P.REGION_READ, _P.SKU_READ,
        _P.ALLOCATION_READ, _P.ARTIFACT_READ, _P.ARTIFACT_SOURCE_READ, _P.CATALOG_READ,
        _P.ENTITLEMENT_READ, _P.INSTANCE_READ, _P.OPERATION_READ, _P.SHARED_RUNTIME_READ,
        _P.USAGE_READ, _P.CORRELATION_READ, _P.GAP_READ, _P.SCHEDULER_CATALOG_READ,
        _P.SCHEDULER_INSTANCE_READ, _P.SCHEDULER_QUEUE_READ, _P.SCHEDULER_NODE_READ,
    }
)  # fmt: skip

_MEMBER: Final = _VIEWER | {
    _P.GRANT_LOGIN, _P.GRANT_READ, _P.SCHEDULER_QUEUE_SUBMIT, _P.SCHEDULER_QUEUE_CANCEL,
}  # fmt: skip

_OPERATOR: Final = _VIEWER | {
    _P.GRANT_CREATE, _P.GRANT_READ, _P.CREDENTIAL_READ, _P.CREDENTIAL_DELIVER, _P.SECRET_READ,
    _P.SECRET_MANAGE, _P.SECRET_DELIVER, _P.NODE_TASK_READ, _P.NODE_TASK_CREATE,
    _P.ARTIFACT_DELIVER, _P.OPERATION_CREATE, _P.OPERATION_CONTROL, _P.INSTANCE_UPDATE,
    _P.USAGE_REPORT, _P.GAP_WRITE,
    _P.SCHEDULER_INSTANCE_UPDATE, _P.SCHEDULER_NODE_OPERATE,
}  # fmt: skip

# Whoever appoints an app's operator can act as it, and nobody grants what they do not hold: an
# administrator's bundle contains the operator's.
_PROJECT_ADMIN: Final = _MEMBER | _OPERATOR | {
    _P.PROJECT_UPDATE, _P.SERVICE_ACCOUNT_READ, _P.SERVICE_ACCOUNT_MANAGE, _P.ROLE_READ,
    _P.BINDING_READ, _P.BINDING_MANAGE, _P.POLICY_WRITE, _P.AUDIT_READ, _P.WEBHOOK_READ,
    _P.WEBHOOK_MANAGE, _P.ALLOCATION_CREATE, _P.ALLOCATION_RELEASE, _P.NODE_TASK_READ,
    _P.CREDENTIAL_READ, _P.CREDENTIAL_MANAGE, _P.SECRET_READ, _P.SECRET_MANAGE,
    _P.ARTIFACT_PUBLISH, _P.INSTANCE_CREATE, _P.INSTANCE_UPDATE, _P.INSTANCE_DELETE,
    _P.OPERATION_CREATE, _P.OPERATION_CANCEL, _P.OPERATION_RETRY, _P.OPERATION_ABANDON,
    _P.ATTACHMENT_REQUEST, _P.GAP_WRITE, _P.SCHEDULER_INSTANCE_CREATE,
    _P.SCHEDULER_INSTANCE_UPDATE, _P.SCHEDULER_INSTANCE_DELETE, _P.SCHEDULER_NODE_OPERATE,
}  # fmt: skip

_TENANT_ADMIN: Final = _PROJECT_ADMIN | {
    _P.TENANT_READ, _P.TENANT_UPDATE, _P.PROJECT_CREATE, _P.USER_READ, _P.USER_MANAGE,
    _P.ROLE_MANAGE, _P.AUTHORIZATION_EXPLAIN, _P.AUDIT_EXPORT, _P.AUDIT_VERIFY,
    _P.ARTIFACT_PROMOTE, _P.ARTIFACT_SOURCE_MANAGE, _P.ENTITLEMENT_MANAGE, _P.QUOTA_MANAGE,
    _P.SHARED_RUNTIME_MANAGE, _P.ATTACHMENT_APPROVE, _P.PROVIDER_READ, _P.PROVIDER_MANAGE,
}  # fmt: skip

_AUDITOR: Final = frozenset(
    {
        _P.TENANT_READ, _P.PROJECT_READ, _P.USER_READ, _P.PERSON_READ, _P.SERVICE_ACCOUNT_READ,
        _P.ROLE_READ, _P.BINDING_READ, _P.POLICY_READ, _P.AUDIT_READ, _P.AUDIT_EXPORT,
        _P.AUDIT_VERIFY, _P.EVENT_READ, _P.INSTANCE_READ, _P.OPERATION_READ, _P.CORRELATION_READ,
        _P.USAGE_READ, _P.CATALOG_READ, _P.ENTITLEMENT_READ, _P.AUTHORIZATION_EXPLAIN, _P.GAP_READ,
        _P.PROVIDER_READ,
    }
)  # fmt: skip

ROLES: Final[dict[RoleName, frozenset[Permission]]] = {
    RoleName.PLATFORM_ADMIN: frozenset(Permission),
    RoleName.AUDITOR: _AUDITOR,
    RoleName.TENANT_ADMIN: _TENANT_ADMIN,
    RoleName.PROJECT_ADMIN: _PROJECT_ADMIN,
    RoleName.PROJECT_MEMBER: _MEMBER,
    RoleName.PROJECT_VIEWER: _VIEWER,
    RoleName.APP_OPERATOR: _OPERATOR,
}

# Keys that act inside a tenant's own workloads and secrets. A binding at the platform carries them
# for the platform's own things only, never down into a tenant: there they come from a binding in
# that tenant, or for a while from break-glass.
TENANT_ONLY: Final = frozenset(
    {
        _P.NODE_TASK_CREATE, _P.GRANT_CREATE, _P.GRANT_LOGIN, _P.CREDENTIAL_MANAGE,
        _P.CREDENTIAL_DELIVER, _P.SECRET_MANAGE,
        _P.SECRET_DELIVER, _P.ARTIFACT_DELIVER,
        _P.INSTANCE_CREATE, _P.INSTANCE_UPDATE, _P.INSTANCE_DELETE,
        _P.OPERATION_CREATE, _P.OPERATION_CANCEL, _P.OPERATION_RETRY, _P.OPERATION_ABANDON,
        _P.OPERATION_CONTROL, _P.SCHEDULER_INSTANCE_CREATE, _P.SCHEDULER_INSTANCE_UPDATE,
        _P.SCHEDULER_INSTANCE_DELETE, _P.SCHEDULER_QUEUE_SUBMIT, _P.SCHEDULER_QUEUE_READ,
        _P.SCHEDULER_QUEUE_CANCEL, _P.SCHEDULER_NODE_OPERATE, _P.SHARED_RUNTIME_MANAGE,
        _P.ATTACHMENT_REQUEST, _P.ATTACHMENT_APPROVE,
    }
)  # fmt: skip
