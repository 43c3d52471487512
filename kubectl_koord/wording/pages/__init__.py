"""The sentences of pages: one module per page, and what several pages share."""
