-- claim_webhook_sender: makes the caller the one process that sends webhooks.
-- Out     one row: term, the fencing token that its writes carry
-- Keeps   the term only goes up: every write of an earlier sender changes nothing from now on
UPDATE webhook_sender SET term = term + 1 RETURNING term
