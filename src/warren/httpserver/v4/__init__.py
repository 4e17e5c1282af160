"""`/v4`: what Burrow's API has no page for. Described by `/v4/openapi.json`."""
