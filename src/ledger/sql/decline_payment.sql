-- decline_payment: a try to pay has failed, and the payment can still be paid.
-- In      payment, the callback's event id, or null where a query has told
-- Out     one row if this is news
-- Keeps   an event that was handled before changes nothing: the buyer may have begun another try since
UPDATE payments p SET declined_at = clock_timestamp()
WHERE p.id = $1 AND p.state = 'started' AND p.declined_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM callbacks c WHERE c.provider = p.provider AND c.event = $2::text)
RETURNING p.id
