"""The sentences of `node` and `domain` about pods that a drain evicts."""

DRAWS = "it draws on a Reservation here: whether it must use one was not looked at"
HAS_CLAIMS = "where the devices of its resource claims could be had anew was not looked at"
VOLUMES_UNREAD = "its volume claims were not read"
