-- refunds_waiting: money that is to go back and has not gone, although it was tried before.
-- In      tries that are nothing unusual
-- Out     count
-- Keeps   a plain read, by the index of what is still to do
SELECT count(*)::int AS count FROM payments WHERE state = 'refund_due' AND tries > $1
