"""Events: from the outbox to numbered CloudEvents, and from there to streams, webhooks and NATS."""
