-- refunds_waiting: counts refunds that were tried more often than usual and have not gone through.
-- In      tries that are usual
-- Out     count
-- Keeps   a plain read, by the index of open payments
SELECT count(*)::int AS count FROM payments WHERE state = 'refund_due' AND tries > $1
