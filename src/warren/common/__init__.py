"""What travels between the packages: frames, requests, group records, statuses. It knows none of them."""
