"""The outside world: files, shipped data, Ansible, HTTP, clock, ledger."""
