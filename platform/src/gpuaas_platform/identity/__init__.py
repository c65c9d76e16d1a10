"""Identity: tenants, projects, people, service accounts, tokens, roles and who holds them where."""
