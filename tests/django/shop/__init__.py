"""The only application of the site: products with a manual each."""
