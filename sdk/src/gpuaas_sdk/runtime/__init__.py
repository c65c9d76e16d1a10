"""The controller runtime: claims operations, keeps leases, runs steps, observes, reports."""
