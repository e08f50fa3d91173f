"""A flow's tasks, implemented batch by batch on a board of their own, as stories are."""
